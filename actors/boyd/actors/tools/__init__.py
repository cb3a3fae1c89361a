"""Tools: definition, schema, validation, and one call from raw text to a result."""
