"""The relay: a training loop as on the first day, and the same with the host freed and three streams.

    python capstone.py [TRACE.json.gz]

Images are loaded, augmented, encoded by a frozen network, and a head is trained on the features. Losses go into a log,
and after every fourth batch the weights of the head are saved.
"""

import sys

import torch
from torch import nn

import timing
from gpu_augmentation import LOADED, Batch, load, on_gpu

BATCH, BATCHES, LAP = 32, 16, 4

torch.manual_seed(1)


def halve(inputs, outputs):
    return [nn.Conv2d(inputs, outputs, 2, 2, bias=False), nn.ReLU(), nn.Conv2d(outputs, outputs, 1, bias=False), nn.ReLU()]


encoder = nn.Sequential(*halve(4, 32), *halve(32, 64), *halve(64, 128)).cuda().requires_grad_(False)
head = nn.Sequential(nn.ConvTranspose2d(128, 128, 2, 2, bias=False), nn.ReLU(), nn.Conv2d(128, 32, 1, bias=False)).cuda()
optimizer = torch.optim.SGD(head.parameters(), lr=1 / 8)
cross_entropy = nn.CrossEntropyLoss()
uploading, encoding = torch.cuda.Stream(), torch.cuda.Stream()


def train(features, labels):
    optimizer.zero_grad()
    loss = cross_entropy(head(features), labels)
    loss.backward()
    optimizer.step()
    return loss.detach()


def is_checkpoint(number):
    return (number + 1) % LAP == 0


def first_day(batches):
    loaded = torch.zeros(BATCH, 4, LOADED, LOADED, dtype=torch.uint8)
    log, saved = [], []
    for number, batch in enumerate(batches):
        load(batch.images, loaded)
        images = loaded.to("cuda")
        with torch.no_grad():
            features = encoder(on_gpu(images, *batch.choices_on_gpu))
        log.append(train(features, batch.labels).item())
        if is_checkpoint(number):
            torch.cuda.synchronize()
            saved.append([weights.detach().cpu().clone() for weights in head.parameters()])
    return log, saved


def relay(batches):
    blocks = [torch.zeros(BATCH, 4, LOADED, LOADED, dtype=torch.uint8).pin_memory() for _ in range(2)]
    losses = [torch.zeros(()).pin_memory() for _ in range(2)]
    weights = [torch.zeros_like(it, device="cpu").pin_memory() for it in head.parameters()]
    uploaded, done = ([torch.cuda.Event() for _ in range(2)] for _ in range(2))
    training = torch.cuda.current_stream()
    encoding.wait_stream(training)
    log, saved = [], []

    def write(number):
        done[number % 2].synchronize()
        log.append(float(losses[number % 2]))
        if is_checkpoint(number):
            saved.append([it.clone() for it in weights])

    for number, batch in enumerate(batches):
        at = number % 2
        uploaded[at].synchronize()
        load(batch.images, blocks[at])
        with torch.cuda.stream(uploading):
            images = blocks[at].to("cuda", non_blocking=True)
            uploaded[at].record()
        with torch.cuda.stream(encoding), torch.no_grad():
            encoding.wait_stream(uploading)
            images.record_stream(encoding)
            features = encoder(on_gpu(images, *batch.choices_on_gpu))
        if number >= 2:
            write(number - 2)
        training.wait_stream(encoding)
        features.record_stream(training)
        losses[at].copy_(train(features, batch.labels), non_blocking=True)
        if is_checkpoint(number):
            for kept, now in zip(weights, head.parameters()):
                kept.copy_(now.detach(), non_blocking=True)
        done[at].record()
    torch.cuda.synchronize()
    write(len(batches) - 2)
    write(len(batches) - 1)
    return log, saved


def main():
    print(timing.machine())
    started = {name: value.clone() for name, value in head.state_dict().items()}
    data, results = [Batch(BATCH) for _ in range(BATCHES)], []
    for program in (first_day, relay):
        head.load_state_dict(started)
        results.append(program(data))
    (log, saved), (other_log, other_saved) = results
    torch.testing.assert_close(torch.tensor(log), torch.tensor(other_log), rtol=1e-3, atol=1e-3)
    for lap, other in zip(saved, other_saved):
        torch.testing.assert_close(lap, other, rtol=1e-2, atol=1e-3)
    slow, fast = (timing.median(lambda: program(data))[0] for program in (first_day, relay))
    print(f"{slow:.2f} ms as on the first day, {fast:.2f} ms as a relay: {slow / fast:.2f} times as fast")
    if len(sys.argv) > 1:
        timing.trace(lambda: relay(data), sys.argv[1])


if __name__ == "__main__":
    main()
