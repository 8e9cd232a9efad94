"""Submits a job, shows what happens until it ends, and reads its losses, checkpoints and log.

python follow_a_job.py JOB_FILE
"""

import sys

import coxswain

job = coxswain.submit(sys.argv[1])
print(f"submitted {job.name}")
try:
    job.watch()
    job.wait("Complete")
except KeyboardInterrupt:
    print(f"{job.name} goes on; coxswain.job({job.name!r}) finds it again")
except coxswain.JobEndedError as ended:
    sys.exit(str(ended))

points = [point for point in job.step_points() if point["loss"] is not None]
if points:
    print(f"loss {points[0]['loss']:.4f} at step {points[0]['step']}, {points[-1]['loss']:.4f} at step {points[-1]['step']}")
for save in job.checkpoints():
    print(f"checkpoint of step {save['step']}: {save['name']}")
print(job.logs(rank=0, tail=3), end="")
