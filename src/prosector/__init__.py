"""Prosector: the Transformer taken apart, put together again, trained, and looked into."""
