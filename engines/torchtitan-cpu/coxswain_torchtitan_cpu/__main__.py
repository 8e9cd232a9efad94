"""`python3 -m coxswain_torchtitan_cpu ARGUMENTS`: `python3 -m torchtitan.train ARGUMENTS` on a CPU."""

from coxswain_torchtitan_cpu.on_cpu import train_on_cpu

if __name__ == '__main__':
    train_on_cpu()
    from torchtitan.train import main

    main()
