"""What isn't generation: one function per operation and vendor, `(Store, Exchange) -> document`."""
