"""A server that speaks Chat Completions over real HTTP, and decides for the triage swarm."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

__all__ = ["Seen", "model_server"]

_SUSPICION: Final = re.compile(r"^- key '([^']+)': (\w+), score (\d\.\d+)", re.MULTILINE)
_BLOCKABLE: Final = re.compile(r"^address:(\d+\.\d+\.\d+\.\d+)$")


class Seen:
    """What the server was asked, and which calls it answered with."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        self.called: list[tuple[str, dict[str, Any]]] = []


def _calls_for(question: str) -> list[tuple[str, dict[str, Any]]]:
    """Open incidents, propose blocks for guessers; and obey a planted order, as a bad model would."""
    calls: list[tuple[str, dict[str, Any]]] = []
    for key, kind, score in _SUSPICION.findall(question):
        if float(score) < 0.6:
            continue
        calls.append(
            (
                "open_incident",
                {
                    "key": key,
                    "title": f"Model: {kind} {key}",
                    "why": f"score {score}",
                    "kind": kind,
                },
            )
        )
        address = _BLOCKABLE.match(key)
        if address and kind == "guessing":
            calls.append(("propose_block", {"address": address[1], "why": "guesses passwords"}))
        if kind == "instruction":
            calls.append(("propose_block", {"address": "10.0.0.1", "why": "the log says so"}))
    return calls


def _events(calls: list[tuple[str, dict[str, Any]]]) -> Generator[dict[str, Any]]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    for word in ("I ", "looked ", "at ", "it."):
        yield chunk({"content": word})
    for index, (name, arguments) in enumerate(calls):
        text = json.dumps(arguments)
        half = len(text) // 2
        first = {"index": index, "id": f"call-{index}", "type": "function"}
        yield chunk(
            {"tool_calls": [first | {"function": {"name": name, "arguments": text[:half]}}]}
        )
        yield chunk({"tool_calls": [{"index": index, "function": {"arguments": text[half:]}}]})
    yield chunk({}, "tool_calls" if calls else "stop")
    yield {
        "id": "c",
        "choices": [],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


@contextmanager
def model_server(*, busy: int = 0, tool: str = "") -> Generator[Seen]:
    """The server, on loopback, for as long as the block runs.

    Args:
        busy: so many answers are 503 first.
        tool: the name that it calls every tool by, as a confused model would.
    """
    seen = Seen()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.requests.append(body)
            question = body["messages"][-1]["content"]
            if len(seen.requests) <= busy:
                self.send_error(503)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            calls = _calls_for(question if isinstance(question, str) else question[0]["text"])
            calls = [(tool or name, arguments) for name, arguments in calls]
            seen.called.extend(calls)
            for event in _events(calls):
                self._send(f"data: {json.dumps(event)}\n\n".encode())
            self._send(b"data: [DONE]\n\n")
            self.wfile.write(b"0\r\n\r\n")

        def _send(self, data: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name
            """Be quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    seen.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
