"""One turn of a model: transforms, provider, accumulate, append, publish, handlers."""
