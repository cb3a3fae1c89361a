"""Log triage: a swarm of OODA agents that reads logs and reports incidents."""
