"""What makes TorchTitan 0.3.0 train where there is no GPU. See the README beside this package."""
