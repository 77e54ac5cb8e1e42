//! Every other call that cudarc 0.19.10 binds: refused by name on the simulated device, passed on
//! untouched on a GPU.
//!
//! Their signatures do not matter here: each is a jump through a table, with all arguments where the
//! caller put them. The table says "refuse" until the real driver's addresses are entered.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{CUresult, code};
use crate::call;

/// Where each call goes.
static TABLE: [AtomicUsize; NAMES.len()] = [const { AtomicUsize::new(0) }; NAMES.len()];

/// Enters the real driver's addresses.
pub(crate) fn connect(symbol: impl Fn(&str) -> Option<usize>) {
    for (entry, name) in TABLE.iter().zip(NAMES) {
        if let Some(address) = symbol(name) {
            entry.store(address, Ordering::Release);
        }
    }
}

extern "C" fn refuse(index: u32) -> CUresult {
    let name = NAMES[index as usize];
    call::say(&match call::gpu() {
        Some(_) => format!("`{name}` is missing from the real driver"),
        None => format!("`{name}` is not supported by the simulated device"),
    });
    code::NOT_SUPPORTED
}

/// Jumps to the entry of the table that `eax` says, or to `refuse`. No call of the API takes a
/// variable number of arguments, so `rax` is free, and `r11` is nobody's.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn enter() {
    core::arch::naked_asm!(
        "lea r11, [rip + {table}]",
        "mov r11, [r11 + rax * 8]",
        "test r11, r11",
        "jz 2f",
        "jmp r11",
        "2: mov edi, eax",
        "jmp {refuse}",
        table = sym TABLE,
        refuse = sym refuse,
    )
}

macro_rules! passed_through {
    ($($index:literal $name:ident)*) => {
        static NAMES: [&str; [$($index),*].len()] = [$(stringify!($name)),*];

        $(
            #[cfg(target_arch = "x86_64")]
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() {
                core::arch::naked_asm!("mov eax, {index}", "jmp {enter}", index = const $index, enter = sym enter)
            }

            // Elsewhere there is no jump that keeps the arguments: refused on a GPU too.
            #[cfg(not(target_arch = "x86_64"))]
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> CUresult {
                refuse($index)
            }
        )*
    };
}

passed_through! {
    0 cuArray3DCreate_v2
    1 cuArray3DGetDescriptor_v2
    2 cuArrayCreate_v2
    3 cuArrayDestroy
    4 cuArrayGetDescriptor_v2
    5 cuArrayGetMemoryRequirements
    6 cuArrayGetPlane
    7 cuArrayGetSparseProperties
    8 cuCoredumpDeregisterCompleteCallback
    9 cuCoredumpDeregisterStartCallback
    10 cuCoredumpGetAttribute
    11 cuCoredumpGetAttributeGlobal
    12 cuCoredumpRegisterCompleteCallback
    13 cuCoredumpRegisterStartCallback
    14 cuCoredumpSetAttribute
    15 cuCoredumpSetAttributeGlobal
    16 cuCtxAttach
    17 cuCtxCreate_v2
    18 cuCtxCreate_v3
    19 cuCtxCreate_v4
    20 cuCtxDestroy_v2
    21 cuCtxDetach
    22 cuCtxDisablePeerAccess
    23 cuCtxEnablePeerAccess
    24 cuCtxFromGreenCtx
    25 cuCtxGetApiVersion
    26 cuCtxGetCacheConfig
    27 cuCtxGetDevResource
    28 cuCtxGetDevice_v2
    29 cuCtxGetExecAffinity
    30 cuCtxGetId
    31 cuCtxGetLimit
    32 cuCtxGetSharedMemConfig
    33 cuCtxRecordEvent
    34 cuCtxResetPersistingL2Cache
    35 cuCtxSetCacheConfig
    36 cuCtxSetLimit
    37 cuCtxSetSharedMemConfig
    38 cuCtxSynchronize_v2
    39 cuCtxWaitEvent
    40 cuDestroyExternalMemory
    41 cuDestroyExternalSemaphore
    42 cuDevResourceGenerateDesc
    43 cuDevSmResourceSplit
    44 cuDevSmResourceSplitByCount
    45 cuDeviceCanAccessPeer
    46 cuDeviceGetByPCIBusId
    47 cuDeviceGetCliqueCount
    48 cuDeviceGetCliqueInfo
    49 cuDeviceGetDefaultMemPool
    50 cuDeviceGetDevResource
    51 cuDeviceGetExecAffinitySupport
    52 cuDeviceGetFabricClusterUuid
    53 cuDeviceGetGraphMemAttribute
    54 cuDeviceGetHostAtomicCapabilities
    55 cuDeviceGetLuid
    56 cuDeviceGetMemPool
    57 cuDeviceGetP2PAtomicCapabilities
    58 cuDeviceGetP2PAttribute
    59 cuDeviceGetPCIBusId
    60 cuDeviceGetProperties
    61 cuDeviceGetTexture1DLinearMaxWidth
    62 cuDeviceGraphMemTrim
    63 cuDevicePrimaryCtxReset_v2
    64 cuDeviceRegisterAsyncNotification
    65 cuDeviceSetGraphMemAttribute
    66 cuDeviceSetMemPool
    67 cuDeviceUnregisterAsyncNotification
    68 cuExternalMemoryGetMappedBuffer
    69 cuExternalMemoryGetMappedMipmappedArray
    70 cuFlushGPUDirectRDMAWrites
    71 cuFuncGetModule
    72 cuFuncGetName
    73 cuFuncGetParamCount
    74 cuFuncGetParamInfo
    75 cuFuncIsLoaded
    76 cuFuncLoad
    77 cuFuncSetBlockShape
    78 cuFuncSetSharedMemConfig
    79 cuFuncSetSharedSize
    80 cuGetExportTable
    81 cuGetProcAddress
    82 cuGetProcAddress_v2
    83 cuGraphAddBatchMemOpNode
    84 cuGraphAddChildGraphNode
    85 cuGraphAddDependencies
    86 cuGraphAddDependencies_v2
    87 cuGraphAddEmptyNode
    88 cuGraphAddEventRecordNode
    89 cuGraphAddEventWaitNode
    90 cuGraphAddExternalSemaphoresSignalNode
    91 cuGraphAddExternalSemaphoresWaitNode
    92 cuGraphAddHostNode
    93 cuGraphAddKernelNode
    94 cuGraphAddKernelNode_v2
    95 cuGraphAddMemAllocNode
    96 cuGraphAddMemFreeNode
    97 cuGraphAddMemcpyNode
    98 cuGraphAddMemsetNode
    99 cuGraphAddNode
    100 cuGraphAddNode_v2
    101 cuGraphAddNode_v3
    102 cuGraphBatchMemOpNodeGetParams
    103 cuGraphBatchMemOpNodeSetParams
    104 cuGraphChildGraphNodeGetGraph
    105 cuGraphClone
    106 cuGraphConditionalHandleCreate
    107 cuGraphCreate
    108 cuGraphDebugDotPrint
    109 cuGraphDestroy
    110 cuGraphDestroyNode
    111 cuGraphEventRecordNodeGetEvent
    112 cuGraphEventRecordNodeSetEvent
    113 cuGraphEventWaitNodeGetEvent
    114 cuGraphEventWaitNodeSetEvent
    115 cuGraphExecBatchMemOpNodeSetParams
    116 cuGraphExecChildGraphNodeSetParams
    117 cuGraphExecDestroy
    118 cuGraphExecEventRecordNodeSetEvent
    119 cuGraphExecEventWaitNodeSetEvent
    120 cuGraphExecExternalSemaphoresSignalNodeSetParams
    121 cuGraphExecExternalSemaphoresWaitNodeSetParams
    122 cuGraphExecGetFlags
    123 cuGraphExecGetId
    124 cuGraphExecHostNodeSetParams
    125 cuGraphExecKernelNodeSetParams
    126 cuGraphExecKernelNodeSetParams_v2
    127 cuGraphExecMemcpyNodeSetParams
    128 cuGraphExecMemsetNodeSetParams
    129 cuGraphExecNodeSetParams
    130 cuGraphExecUpdate
    131 cuGraphExecUpdate_v2
    132 cuGraphExternalSemaphoresSignalNodeGetParams
    133 cuGraphExternalSemaphoresSignalNodeSetParams
    134 cuGraphExternalSemaphoresWaitNodeGetParams
    135 cuGraphExternalSemaphoresWaitNodeSetParams
    136 cuGraphGetEdges
    137 cuGraphGetEdges_v2
    138 cuGraphGetId
    139 cuGraphGetNodes
    140 cuGraphGetRootNodes
    141 cuGraphHostNodeGetParams
    142 cuGraphHostNodeSetParams
    143 cuGraphInstantiateWithFlags
    144 cuGraphInstantiateWithParams
    145 cuGraphInstantiate_v2
    146 cuGraphKernelNodeCopyAttributes
    147 cuGraphKernelNodeGetAttribute
    148 cuGraphKernelNodeGetParams
    149 cuGraphKernelNodeGetParams_v2
    150 cuGraphKernelNodeSetAttribute
    151 cuGraphKernelNodeSetParams
    152 cuGraphKernelNodeSetParams_v2
    153 cuGraphLaunch
    154 cuGraphMemAllocNodeGetParams
    155 cuGraphMemFreeNodeGetParams
    156 cuGraphMemcpyNodeGetParams
    157 cuGraphMemcpyNodeSetParams
    158 cuGraphMemsetNodeGetParams
    159 cuGraphMemsetNodeSetParams
    160 cuGraphNodeFindInClone
    161 cuGraphNodeGetContainingGraph
    162 cuGraphNodeGetDependencies
    163 cuGraphNodeGetDependencies_v2
    164 cuGraphNodeGetDependentNodes
    165 cuGraphNodeGetDependentNodes_v2
    166 cuGraphNodeGetEnabled
    167 cuGraphNodeGetLocalId
    168 cuGraphNodeGetParams
    169 cuGraphNodeGetToolsId
    170 cuGraphNodeGetType
    171 cuGraphNodeSetEnabled
    172 cuGraphNodeSetParams
    173 cuGraphNodeSetParams_v2
    174 cuGraphReleaseUserObject
    175 cuGraphRemoveDependencies
    176 cuGraphRemoveDependencies_v2
    177 cuGraphRetainUserObject
    178 cuGraphUpload
    179 cuGraphicsMapResources
    180 cuGraphicsResourceGetMappedMipmappedArray
    181 cuGraphicsResourceGetMappedPointer_v2
    182 cuGraphicsResourceSetMapFlags_v2
    183 cuGraphicsSubResourceGetMappedArray
    184 cuGraphicsUnmapResources
    185 cuGraphicsUnregisterResource
    186 cuGreenCtxCreate
    187 cuGreenCtxDestroy
    188 cuGreenCtxGetDevResource
    189 cuGreenCtxGetId
    190 cuGreenCtxRecordEvent
    191 cuGreenCtxStreamCreate
    192 cuGreenCtxWaitEvent
    193 cuImportExternalMemory
    194 cuImportExternalSemaphore
    195 cuIpcCloseMemHandle
    196 cuIpcGetEventHandle
    197 cuIpcGetMemHandle
    198 cuIpcOpenEventHandle
    199 cuIpcOpenMemHandle_v2
    200 cuKernelGetAttribute
    201 cuKernelGetFunction
    202 cuKernelGetLibrary
    203 cuKernelGetName
    204 cuKernelGetParamCount
    205 cuKernelGetParamInfo
    206 cuKernelSetAttribute
    207 cuKernelSetCacheConfig
    208 cuLaunch
    209 cuLaunchCooperativeKernel
    210 cuLaunchCooperativeKernelMultiDevice
    211 cuLaunchGrid
    212 cuLaunchGridAsync
    213 cuLaunchHostFunc_v2
    214 cuLaunchKernelEx
    215 cuLibraryEnumerateKernels
    216 cuLibraryGetGlobal
    217 cuLibraryGetKernel
    218 cuLibraryGetKernelCount
    219 cuLibraryGetManaged
    220 cuLibraryGetModule
    221 cuLibraryGetUnifiedFunction
    222 cuLibraryLoadData
    223 cuLibraryLoadFromFile
    224 cuLibraryUnload
    225 cuLinkAddData_v2
    226 cuLinkAddFile_v2
    227 cuLinkComplete
    228 cuLinkCreate_v2
    229 cuLinkDestroy
    230 cuLogicalEndpointAddDevice
    231 cuLogicalEndpointBindAddr
    232 cuLogicalEndpointBindMem
    233 cuLogicalEndpointCreate
    234 cuLogicalEndpointDestroy
    235 cuLogicalEndpointExport
    236 cuLogicalEndpointGetLimits
    237 cuLogicalEndpointIdRelease
    238 cuLogicalEndpointIdReserve
    239 cuLogicalEndpointImport
    240 cuLogicalEndpointQuery
    241 cuLogicalEndpointUnbind
    242 cuLogsCurrent
    243 cuLogsDumpToFile
    244 cuLogsDumpToMemory
    245 cuLogsRegisterCallback
    246 cuLogsUnregisterCallback
    247 cuMemAddressFree
    248 cuMemAddressReserve
    249 cuMemAdvise
    250 cuMemAdvise_v2
    251 cuMemAllocFromPoolAsync
    252 cuMemAllocManaged
    253 cuMemAllocPitch_v2
    254 cuMemBatchDecompressAsync
    255 cuMemCreate
    256 cuMemDiscardAndPrefetchBatchAsync
    257 cuMemDiscardBatchAsync
    258 cuMemExportToShareableHandle
    259 cuMemGetAccess
    260 cuMemGetAddressRange_v2
    261 cuMemGetAllocationGranularity
    262 cuMemGetAllocationPropertiesFromHandle
    263 cuMemGetDefaultMemPool
    264 cuMemGetHandleForAddressRange
    265 cuMemGetLocationInfo
    266 cuMemGetMemPool
    267 cuMemHostGetFlags
    268 cuMemHostRegister_v2
    269 cuMemHostUnregister
    270 cuMemImportFromShareableHandle
    271 cuMemMap
    272 cuMemMapArrayAsync
    273 cuMemPoolCreate
    274 cuMemPoolDestroy
    275 cuMemPoolExportPointer
    276 cuMemPoolExportToShareableHandle
    277 cuMemPoolGetAccess
    278 cuMemPoolGetAttribute
    279 cuMemPoolImportFromShareableHandle
    280 cuMemPoolImportPointer
    281 cuMemPoolSetAccess
    282 cuMemPoolSetAttribute
    283 cuMemPoolTrimTo
    284 cuMemPrefetchAsync
    285 cuMemPrefetchAsync_v2
    286 cuMemPrefetchBatchAsync
    287 cuMemRangeGetAttribute
    288 cuMemRangeGetAttributes
    289 cuMemRelease
    290 cuMemRetainAllocationHandle
    291 cuMemSetAccess
    292 cuMemSetMemPool
    293 cuMemUnmap
    294 cuMemcpy2DAsync_v2
    295 cuMemcpy2DUnaligned_v2
    296 cuMemcpy2D_v2
    297 cuMemcpy3DAsync_v2
    298 cuMemcpy3DBatchAsync
    299 cuMemcpy3DBatchAsync_v2
    300 cuMemcpy3DPeer
    301 cuMemcpy3DPeerAsync
    302 cuMemcpy3DWithAttributesAsync
    303 cuMemcpy3D_v2
    304 cuMemcpyAtoA_v2
    305 cuMemcpyAtoD_v2
    306 cuMemcpyAtoHAsync_v2
    307 cuMemcpyAtoH_v2
    308 cuMemcpyBatchAsync
    309 cuMemcpyBatchAsync_v2
    310 cuMemcpyDtoA_v2
    311 cuMemcpyHtoAAsync_v2
    312 cuMemcpyHtoA_v2
    313 cuMemcpyPeer
    314 cuMemcpyPeerAsync
    315 cuMemcpyWithAttributesAsync
    316 cuMemsetD2D16Async
    317 cuMemsetD2D16_v2
    318 cuMemsetD2D32Async
    319 cuMemsetD2D32_v2
    320 cuMemsetD2D8Async
    321 cuMemsetD2D8_v2
    322 cuMipmappedArrayCreate
    323 cuMipmappedArrayDestroy
    324 cuMipmappedArrayGetLevel
    325 cuMipmappedArrayGetMemoryRequirements
    326 cuMipmappedArrayGetSparseProperties
    327 cuModuleEnumerateFunctions
    328 cuModuleGetFunctionCount
    329 cuModuleGetGlobal_v2
    330 cuModuleGetLoadingMode
    331 cuModuleGetSurfRef
    332 cuModuleGetTexRef
    333 cuModuleLoadFatBinary
    334 cuMulticastAddDevice
    335 cuMulticastBindAddr
    336 cuMulticastBindAddr_v2
    337 cuMulticastBindMem
    338 cuMulticastBindMem_v2
    339 cuMulticastCreate
    340 cuMulticastGetGranularity
    341 cuMulticastUnbind
    342 cuOccupancyAvailableDynamicSMemPerBlock
    343 cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
    344 cuOccupancyMaxActiveClusters
    345 cuOccupancyMaxPotentialBlockSize
    346 cuOccupancyMaxPotentialBlockSizeWithFlags
    347 cuOccupancyMaxPotentialClusterSize
    348 cuParamSetSize
    349 cuParamSetTexRef
    350 cuParamSetf
    351 cuParamSeti
    352 cuParamSetv
    353 cuPointerGetAttribute
    354 cuPointerGetAttributes
    355 cuPointerSetAttribute
    356 cuProfilerInitialize
    357 cuProfilerStart
    358 cuProfilerStop
    359 cuSignalExternalSemaphoresAsync
    360 cuStreamAddCallback
    361 cuStreamAttachMemAsync
    362 cuStreamBatchMemOp
    363 cuStreamBatchMemOp_v2
    364 cuStreamBeginCaptureToCig
    365 cuStreamBeginCaptureToGraph
    366 cuStreamBeginCapture_v2
    367 cuStreamBeginRecaptureToGraph
    368 cuStreamCopyAttributes
    369 cuStreamEndCapture
    370 cuStreamEndCaptureToCig
    371 cuStreamGetAttribute
    372 cuStreamGetCaptureInfo
    373 cuStreamGetCaptureInfo_v2
    374 cuStreamGetCaptureInfo_v3
    375 cuStreamGetCtx
    376 cuStreamGetCtx_v2
    377 cuStreamGetDevResource
    378 cuStreamGetDevice
    379 cuStreamGetGreenCtx
    380 cuStreamGetId
    381 cuStreamIsCapturing
    382 cuStreamSetAttribute
    383 cuStreamUpdateCaptureDependencies
    384 cuStreamUpdateCaptureDependencies_v2
    385 cuStreamWaitValue32
    386 cuStreamWaitValue32_v2
    387 cuStreamWaitValue64
    388 cuStreamWaitValue64_v2
    389 cuStreamWriteValue32
    390 cuStreamWriteValue32_v2
    391 cuStreamWriteValue64
    392 cuStreamWriteValue64_v2
    393 cuSurfObjectCreate
    394 cuSurfObjectDestroy
    395 cuSurfObjectGetResourceDesc
    396 cuSurfRefGetArray
    397 cuSurfRefSetArray
    398 cuTensorMapEncodeIm2col
    399 cuTensorMapEncodeIm2colWide
    400 cuTensorMapEncodeTiled
    401 cuTensorMapReplaceAddress
    402 cuTexObjectCreate
    403 cuTexObjectDestroy
    404 cuTexObjectGetResourceDesc
    405 cuTexObjectGetResourceViewDesc
    406 cuTexObjectGetTextureDesc
    407 cuTexRefCreate
    408 cuTexRefDestroy
    409 cuTexRefGetAddressMode
    410 cuTexRefGetAddress_v2
    411 cuTexRefGetArray
    412 cuTexRefGetBorderColor
    413 cuTexRefGetFilterMode
    414 cuTexRefGetFlags
    415 cuTexRefGetFormat
    416 cuTexRefGetMaxAnisotropy
    417 cuTexRefGetMipmapFilterMode
    418 cuTexRefGetMipmapLevelBias
    419 cuTexRefGetMipmapLevelClamp
    420 cuTexRefGetMipmappedArray
    421 cuTexRefSetAddress2D_v3
    422 cuTexRefSetAddressMode
    423 cuTexRefSetAddress_v2
    424 cuTexRefSetArray
    425 cuTexRefSetBorderColor
    426 cuTexRefSetFilterMode
    427 cuTexRefSetFlags
    428 cuTexRefSetFormat
    429 cuTexRefSetMaxAnisotropy
    430 cuTexRefSetMipmapFilterMode
    431 cuTexRefSetMipmapLevelBias
    432 cuTexRefSetMipmapLevelClamp
    433 cuTexRefSetMipmappedArray
    434 cuThreadExchangeStreamCaptureMode
    435 cuUserObjectCreate
    436 cuUserObjectRelease
    437 cuUserObjectRetain
    438 cuWaitExternalSemaphoresAsync
}
