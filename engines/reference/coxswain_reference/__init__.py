"""A small real GPT in PyTorch with tensor, pipeline and data parallelism, used as Coxswain's reference engine."""
