"""What does a step of training do? A small GPT as users write it, divided as engines divide it, with its optimizer."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


class Tensor:
    """The ranks that share each layer; sums over them cost nothing where there is one."""

    def __init__(self, group, ranks, rank):
        self.group, self.size, self.index = group, len(ranks), ranks.index(rank)

    def summed(self, x):
        """The sum going forward, the gradient as it is going backward."""
        return x if self.size == 1 else _SumValues.apply(x, self.group)

    def copied(self, x):
        """As it is going forward, the sum of the gradients going backward."""
        return x if self.size == 1 else _SumGradients.apply(x, self.group)

    def highest(self, x):
        if self.size > 1:
            dist.all_reduce(x, op=dist.ReduceOp.MAX, group=self.group)
        return x


class _SumValues(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        total = x.contiguous().clone()
        dist.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class _SumGradients(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        total = gradient.contiguous().clone()
        dist.all_reduce(total, group=ctx.group)
        return total, None


class Block(nn.Module):
    """One layer: causal attention with rotary positions, and an MLP; RMS norms, no biases; shared by a tensor group."""

    def __init__(self, step, tensor):
        super().__init__()
        hidden, ways = step['hidden'], tensor.size
        self.tensor, self.heads, self.width = tensor, step['heads'] // ways, hidden // step['heads']
        self.attention_norm, self.mlp_norm = nn.RMSNorm(hidden), nn.RMSNorm(hidden)
        self.qkv = nn.Linear(hidden, 3 * hidden // ways, bias=False)
        self.output = nn.Linear(hidden // ways, hidden, bias=False)
        self.up = nn.Linear(hidden, step['ffn'] // ways, bias=False)
        self.down = nn.Linear(step['ffn'] // ways, hidden, bias=False)
        angles = torch.arange(step['length']).unsqueeze(1) / 10000.0 ** (torch.arange(0, self.width, 2) / self.width)
        self.register_buffer('cosines', angles.cos(), persistent=False)
        self.register_buffer('sines', angles.sin(), persistent=False)

    def forward(self, x):
        batch, length, _ = x.shape
        heads = self.qkv(self.tensor.copied(self.attention_norm(x))).view(batch, length, self.heads, 3, self.width)
        query, key, value = (part.transpose(1, 2) for part in heads.unbind(3))
        mixed = F.scaled_dot_product_attention(self._turned(query), self._turned(key), value, is_causal=True)
        x = x + self.tensor.summed(self.output(mixed.transpose(1, 2).reshape(batch, length, -1)))
        return x + self.tensor.summed(self.down(F.gelu(self.up(self.tensor.copied(self.mlp_norm(x))))))

    def _turned(self, x):
        first, second = x.chunk(2, dim=-1)
        cosines, sines = self.cosines.to(x.dtype), self.sines.to(x.dtype)
        return torch.cat([first * cosines - second * sines, second * cosines + first * sines], dim=-1)


class Model(nn.Module):
    """From tokens to the mean loss; each tensor rank has a share of the logits."""

    def __init__(self, step, tensor):
        super().__init__()
        self.tensor = tensor
        self.embedding = nn.Embedding(step['vocabulary'], step['hidden'])
        self.blocks = nn.Sequential(*[Block(step, tensor) for _ in range(step['layers'])])
        self.norm = nn.RMSNorm(step['hidden'])
        self.head = nn.Linear(step['hidden'], step['vocabulary'] // tensor.size, bias=False)

    def forward(self, tokens, targets):
        logits = self.head(self.tensor.copied(self.norm(self.blocks(self.embedding(tokens))))).float()
        width = logits.shape[-1]
        highest = self.tensor.highest(logits.detach().amax(-1))
        local = targets - self.tensor.index * width
        is_mine = (local >= 0) & (local < width)
        chosen = logits.gather(-1, local.masked_fill(~is_mine, 0).unsqueeze(-1)).squeeze(-1).masked_fill(~is_mine, 0.0)
        total = self.tensor.summed((logits - highest.unsqueeze(-1)).exp().sum(-1))
        return (total.log() + highest - self.tensor.summed(chosen)).mean()


class Training:
    """Steps of one model: fp32 gradients; master weights and moments divided among the ranks that hold the same."""

    def __init__(self, step, dtype, device, groups):
        torch.manual_seed(1)
        shape = (step['microBatches'], step['batch'], step['length'] + 1)
        self._tokens = torch.randint(step['vocabulary'], shape, device=device)
        tensor, self._data, self._ways = groups
        with torch.device(device):
            self._model = Model(step, tensor).to(dtype)
        self._weights = list(self._model.parameters())
        numbers = sum(weight.numel() for weight in self._weights)
        padded = -(-numbers // self._ways) * self._ways
        self._gradients = torch.zeros(padded, device=device)
        self._master = nn.Parameter(torch.zeros(padded // self._ways, device=device))
        self._master.grad = torch.zeros_like(self._master)
        self._adam = torch.optim.AdamW([self._master], lr=1e-4, fused=True)
        for weight, gradient in zip(self._weights, self._views(self._gradients)):
            weight.register_post_accumulate_grad_hook(_adder(gradient))

    def _views(self, flat):
        begin = 0
        for weight in self._weights:
            yield flat[begin : begin + weight.numel()].view_as(weight)
            begin += weight.numel()

    def step(self):
        for part in self._tokens:
            self._model(part[:, :-1], part[:, 1:]).backward()
        with torch.no_grad():
            self._reduce()
            norm = torch.linalg.vector_norm(self._master.grad, dtype=torch.float64) ** 2
            if dist.get_world_size() > 1 and self._data is not None:
                dist.all_reduce(norm)
            self._master.grad.mul_(min(1.0, 1.0 / (float(norm) ** 0.5 + 1e-6)))
            self._adam.step()
            self._share()
            self._gradients.zero_()

    def _reduce(self):
        if self._ways == 1:
            self._master.grad.copy_(self._gradients)
        else:
            dist.reduce_scatter_tensor(self._master.grad, self._gradients, group=self._data)

    def _share(self):
        if self._ways == 1:
            whole = self._master.detach()
        else:
            whole = torch.empty_like(self._gradients)
            dist.all_gather_into_tensor(whole, self._master.detach(), group=self._data)
        for weight, values in zip(self._weights, self._views(whole)):
            weight.copy_(values)


def _adder(gradient):
    def add(weight):
        gradient.add_(weight.grad)
        weight.grad = None

    return add
