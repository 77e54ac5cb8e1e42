//! Stream capture and graphs.

use std::ffi::c_int;

use simulator::machine::{Command, GraphCommand, Reply};

use super::{Handle, calls};

/// `CUgraphExecUpdateResultInfo`: what came of it, and the nodes that differ.
#[repr(C)]
struct UpdateInfo {
    result: c_int,
    nodes: [Handle; 2],
}

/// `CU_GRAPH_EXEC_UPDATE_SUCCESS`
const UPDATE_SUCCESS: c_int = 0;
/// `CU_GRAPH_EXEC_UPDATE_ERROR`
const UPDATE_ERROR: c_int = 1;

calls! {
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html>
    fn cuStreamBeginCapture_v2(stream: Handle, mode: u32) {
        command Command::Graph(GraphCommand::BeginCapture { stream, mode });
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html>
    fn cuStreamEndCapture(stream: Handle, graph: *mut Handle) {
        require graph;
        command {
            // A capture that went wrong leaves no graph. On a GPU the real driver writes it again.
            // SAFETY: checked not to be null; the caller gives room for a handle.
            unsafe { *graph = 0 };
            Command::Graph(GraphCommand::EndCapture { stream })
        };
        // SAFETY: as above.
        gpu Reply::Number(unsafe { *graph });
        // SAFETY: as above.
        sim Reply::Number(handle) => unsafe { *graph = handle };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html>
    fn cuStreamIsCapturing(stream: Handle, status: *mut c_int) {
        require status;
        command Command::Graph(GraphCommand::IsCapturing { stream });
        // SAFETY: checked not to be null; the caller gives room for an int.
        sim Reply::Number(found) => unsafe { *status = found as c_int };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html>
    fn cuThreadExchangeStreamCaptureMode(mode: *mut u32) {
        require mode;
        // SAFETY: checked not to be null; the caller gives a mode and room for another.
        command Command::Graph(GraphCommand::ExchangeMode { mode: unsafe { *mode } });
        // SAFETY: as above.
        sim Reply::Number(before) => unsafe { *mode = before as u32 };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html>
    fn cuGraphInstantiateWithFlags(executable: *mut Handle, graph: Handle, flags: u64) {
        require executable;
        command Command::Graph(GraphCommand::Instantiate { graph, flags });
        // SAFETY: the real driver has just written it.
        gpu Reply::Number(unsafe { *executable });
        // SAFETY: checked not to be null; the caller gives room for a handle.
        sim Reply::Number(handle) => unsafe { *executable = handle };
    }

    /// On a GPU the driver says in `info` what differs; the simulated device says that something
    /// does.
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html>
    fn cuGraphExecUpdate_v2(executable: Handle, graph: Handle, info: *mut UpdateInfo) {
        require info;
        command {
            // SAFETY: checked not to be null; the caller gives room for it.
            unsafe { info.write(UpdateInfo { result: UPDATE_ERROR, nodes: [0; 2] }) };
            Command::Graph(GraphCommand::Update { executable, graph })
        };
        // SAFETY: as above.
        sim Reply::Done => unsafe { (*info).result = UPDATE_SUCCESS };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html>
    fn cuGraphLaunch(executable: Handle, stream: Handle) {
        command Command::Graph(GraphCommand::Launch { executable, stream });
    }

    /// Costs nothing on the simulated device, where a launch uploads nothing.
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html>
    fn cuGraphUpload(executable: Handle, stream: Handle) {
        command Command::Graph(GraphCommand::Upload { executable, stream });
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html>
    fn cuGraphExecDestroy(executable: Handle) {
        command Command::Graph(GraphCommand::ExecDestroy { executable });
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html>
    fn cuGraphDestroy(graph: Handle) {
        command Command::Graph(GraphCommand::Destroy { graph });
    }
}
