"""How long does a training step of one GPU take, how much memory does it need, and what can the GPU do at all?"""
