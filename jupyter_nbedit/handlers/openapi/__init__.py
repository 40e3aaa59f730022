"""The OpenAPI document of the REST API, built from the contracts of the handlers."""
