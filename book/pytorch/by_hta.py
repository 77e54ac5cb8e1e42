"""What Holistic Trace Analysis says of three of the traces beside this file, as it comes and without its rounding.

    pip install HolisticTraceAnalysis 'pandas<3'
    python by_hta.py > traces/hta.json

It needs no GPU. Version 0.5.0 with pandas 3 stops at traces of many rows.
"""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

TRACES = ["three_lanes", "wrapper_tracking", "buffer_lifetime"]
FOLDER = Path(__file__).parent / "traces"


def measured(name):
    from hta.trace_analysis import TraceAnalysis

    analysis = TraceAnalysis(trace_files={0: str(FOLDER / f"{name}.json.gz")}, trace_dir=str(FOLDER))
    times = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    kinds, _ = analysis.get_gpu_kernel_breakdown(visualize=False, include_memory_kernels=True)
    share = kinds.set_index("kernel_type")["percentage"]["COMPUTATION overlapping MEMORY"]
    overlap = analysis.get_comm_comp_overlap(visualize=False)["comp_comm_overlap_pctg"].iloc[0]
    fields = ["kernel_time(us)", "compute_time(us)", "non_compute_time(us)", "idle_time(us)"]
    found = {field: float(times[field]) for field in fields}
    return found | {"overlap_percent": float(share), "communication_overlap": None if overlap != overlap else float(overlap)}


def main():
    if len(sys.argv) > 1:
        # Whatever HTA itself prints is kept away from the numbers.
        numbers, sys.stdout = sys.stdout, sys.stderr
        json.dump({name: measured(name) for name in TRACES}, numbers)
        return
    result = {"version": importlib.metadata.version("HolisticTraceAnalysis")}
    for key, off in (("rounded", "0"), ("not_rounded", "1")):
        # It is read when the library is loaded, so each has a process of its own.
        environment = os.environ | {"HTA_DISABLE_NS_ROUNDING": off}
        command = [sys.executable, __file__, "child"]
        output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        result[key] = json.loads(output.stdout)
    json.dump(result, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
