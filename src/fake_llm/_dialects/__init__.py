"""One file per wire vocabulary; none knows a sibling, a framing or a stack."""
