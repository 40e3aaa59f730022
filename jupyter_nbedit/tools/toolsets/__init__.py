"""One module for each toolset: the tools as one kind of agent calls them."""
