"""A local Messages API: scripted turns, a log of the requests, and injected faults."""
