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
    109 cuGraphDestroyNode
    110 cuGraphEventRecordNodeGetEvent
    111 cuGraphEventRecordNodeSetEvent
    112 cuGraphEventWaitNodeGetEvent
    113 cuGraphEventWaitNodeSetEvent
    114 cuGraphExecBatchMemOpNodeSetParams
    115 cuGraphExecChildGraphNodeSetParams
    116 cuGraphExecEventRecordNodeSetEvent
    117 cuGraphExecEventWaitNodeSetEvent
    118 cuGraphExecExternalSemaphoresSignalNodeSetParams
    119 cuGraphExecExternalSemaphoresWaitNodeSetParams
    120 cuGraphExecGetFlags
    121 cuGraphExecGetId
    122 cuGraphExecHostNodeSetParams
    123 cuGraphExecKernelNodeSetParams
    124 cuGraphExecKernelNodeSetParams_v2
    125 cuGraphExecMemcpyNodeSetParams
    126 cuGraphExecMemsetNodeSetParams
    127 cuGraphExecNodeSetParams
    128 cuGraphExecUpdate
    129 cuGraphExecUpdate_v2
    130 cuGraphExternalSemaphoresSignalNodeGetParams
    131 cuGraphExternalSemaphoresSignalNodeSetParams
    132 cuGraphExternalSemaphoresWaitNodeGetParams
    133 cuGraphExternalSemaphoresWaitNodeSetParams
    134 cuGraphGetEdges
    135 cuGraphGetEdges_v2
    136 cuGraphGetId
    137 cuGraphGetNodes
    138 cuGraphGetRootNodes
    139 cuGraphHostNodeGetParams
    140 cuGraphHostNodeSetParams
    141 cuGraphInstantiateWithParams
    142 cuGraphInstantiate_v2
    143 cuGraphKernelNodeCopyAttributes
    144 cuGraphKernelNodeGetAttribute
    145 cuGraphKernelNodeGetParams
    146 cuGraphKernelNodeGetParams_v2
    147 cuGraphKernelNodeSetAttribute
    148 cuGraphKernelNodeSetParams
    149 cuGraphKernelNodeSetParams_v2
    150 cuGraphMemAllocNodeGetParams
    151 cuGraphMemFreeNodeGetParams
    152 cuGraphMemcpyNodeGetParams
    153 cuGraphMemcpyNodeSetParams
    154 cuGraphMemsetNodeGetParams
    155 cuGraphMemsetNodeSetParams
    156 cuGraphNodeFindInClone
    157 cuGraphNodeGetContainingGraph
    158 cuGraphNodeGetDependencies
    159 cuGraphNodeGetDependencies_v2
    160 cuGraphNodeGetDependentNodes
    161 cuGraphNodeGetDependentNodes_v2
    162 cuGraphNodeGetEnabled
    163 cuGraphNodeGetLocalId
    164 cuGraphNodeGetParams
    165 cuGraphNodeGetToolsId
    166 cuGraphNodeGetType
    167 cuGraphNodeSetEnabled
    168 cuGraphNodeSetParams
    169 cuGraphNodeSetParams_v2
    170 cuGraphReleaseUserObject
    171 cuGraphRemoveDependencies
    172 cuGraphRemoveDependencies_v2
    173 cuGraphRetainUserObject
    174 cuGraphicsMapResources
    175 cuGraphicsResourceGetMappedMipmappedArray
    176 cuGraphicsResourceGetMappedPointer_v2
    177 cuGraphicsResourceSetMapFlags_v2
    178 cuGraphicsSubResourceGetMappedArray
    179 cuGraphicsUnmapResources
    180 cuGraphicsUnregisterResource
    181 cuGreenCtxCreate
    182 cuGreenCtxDestroy
    183 cuGreenCtxGetDevResource
    184 cuGreenCtxGetId
    185 cuGreenCtxRecordEvent
    186 cuGreenCtxStreamCreate
    187 cuGreenCtxWaitEvent
    188 cuImportExternalMemory
    189 cuImportExternalSemaphore
    190 cuIpcCloseMemHandle
    191 cuIpcGetEventHandle
    192 cuIpcGetMemHandle
    193 cuIpcOpenEventHandle
    194 cuIpcOpenMemHandle_v2
    195 cuKernelGetAttribute
    196 cuKernelGetFunction
    197 cuKernelGetLibrary
    198 cuKernelGetName
    199 cuKernelGetParamCount
    200 cuKernelGetParamInfo
    201 cuKernelSetAttribute
    202 cuKernelSetCacheConfig
    203 cuLaunch
    204 cuLaunchCooperativeKernel
    205 cuLaunchCooperativeKernelMultiDevice
    206 cuLaunchGrid
    207 cuLaunchGridAsync
    208 cuLaunchHostFunc_v2
    209 cuLaunchKernelEx
    210 cuLibraryEnumerateKernels
    211 cuLibraryGetGlobal
    212 cuLibraryGetKernel
    213 cuLibraryGetKernelCount
    214 cuLibraryGetManaged
    215 cuLibraryGetModule
    216 cuLibraryGetUnifiedFunction
    217 cuLibraryLoadData
    218 cuLibraryLoadFromFile
    219 cuLibraryUnload
    220 cuLinkAddData_v2
    221 cuLinkAddFile_v2
    222 cuLinkComplete
    223 cuLinkCreate_v2
    224 cuLinkDestroy
    225 cuLogicalEndpointAddDevice
    226 cuLogicalEndpointBindAddr
    227 cuLogicalEndpointBindMem
    228 cuLogicalEndpointCreate
    229 cuLogicalEndpointDestroy
    230 cuLogicalEndpointExport
    231 cuLogicalEndpointGetLimits
    232 cuLogicalEndpointIdRelease
    233 cuLogicalEndpointIdReserve
    234 cuLogicalEndpointImport
    235 cuLogicalEndpointQuery
    236 cuLogicalEndpointUnbind
    237 cuLogsCurrent
    238 cuLogsDumpToFile
    239 cuLogsDumpToMemory
    240 cuLogsRegisterCallback
    241 cuLogsUnregisterCallback
    242 cuMemAddressFree
    243 cuMemAddressReserve
    244 cuMemAdvise
    245 cuMemAdvise_v2
    246 cuMemAllocFromPoolAsync
    247 cuMemAllocManaged
    248 cuMemAllocPitch_v2
    249 cuMemBatchDecompressAsync
    250 cuMemCreate
    251 cuMemDiscardAndPrefetchBatchAsync
    252 cuMemDiscardBatchAsync
    253 cuMemExportToShareableHandle
    254 cuMemGetAccess
    255 cuMemGetAddressRange_v2
    256 cuMemGetAllocationGranularity
    257 cuMemGetAllocationPropertiesFromHandle
    258 cuMemGetDefaultMemPool
    259 cuMemGetHandleForAddressRange
    260 cuMemGetLocationInfo
    261 cuMemGetMemPool
    262 cuMemHostGetFlags
    263 cuMemHostRegister_v2
    264 cuMemHostUnregister
    265 cuMemImportFromShareableHandle
    266 cuMemMap
    267 cuMemMapArrayAsync
    268 cuMemPoolCreate
    269 cuMemPoolDestroy
    270 cuMemPoolExportPointer
    271 cuMemPoolExportToShareableHandle
    272 cuMemPoolGetAccess
    273 cuMemPoolGetAttribute
    274 cuMemPoolImportFromShareableHandle
    275 cuMemPoolImportPointer
    276 cuMemPoolSetAccess
    277 cuMemPoolSetAttribute
    278 cuMemPoolTrimTo
    279 cuMemPrefetchAsync
    280 cuMemPrefetchAsync_v2
    281 cuMemPrefetchBatchAsync
    282 cuMemRangeGetAttribute
    283 cuMemRangeGetAttributes
    284 cuMemRelease
    285 cuMemRetainAllocationHandle
    286 cuMemSetAccess
    287 cuMemSetMemPool
    288 cuMemUnmap
    289 cuMemcpy2DAsync_v2
    290 cuMemcpy2DUnaligned_v2
    291 cuMemcpy2D_v2
    292 cuMemcpy3DAsync_v2
    293 cuMemcpy3DBatchAsync
    294 cuMemcpy3DBatchAsync_v2
    295 cuMemcpy3DPeer
    296 cuMemcpy3DPeerAsync
    297 cuMemcpy3DWithAttributesAsync
    298 cuMemcpy3D_v2
    299 cuMemcpyAtoA_v2
    300 cuMemcpyAtoD_v2
    301 cuMemcpyAtoHAsync_v2
    302 cuMemcpyAtoH_v2
    303 cuMemcpyBatchAsync
    304 cuMemcpyBatchAsync_v2
    305 cuMemcpyDtoA_v2
    306 cuMemcpyHtoAAsync_v2
    307 cuMemcpyHtoA_v2
    308 cuMemcpyPeer
    309 cuMemcpyPeerAsync
    310 cuMemcpyWithAttributesAsync
    311 cuMemsetD2D16Async
    312 cuMemsetD2D16_v2
    313 cuMemsetD2D32Async
    314 cuMemsetD2D32_v2
    315 cuMemsetD2D8Async
    316 cuMemsetD2D8_v2
    317 cuMipmappedArrayCreate
    318 cuMipmappedArrayDestroy
    319 cuMipmappedArrayGetLevel
    320 cuMipmappedArrayGetMemoryRequirements
    321 cuMipmappedArrayGetSparseProperties
    322 cuModuleEnumerateFunctions
    323 cuModuleGetFunctionCount
    324 cuModuleGetGlobal_v2
    325 cuModuleGetLoadingMode
    326 cuModuleGetSurfRef
    327 cuModuleGetTexRef
    328 cuModuleLoadFatBinary
    329 cuMulticastAddDevice
    330 cuMulticastBindAddr
    331 cuMulticastBindAddr_v2
    332 cuMulticastBindMem
    333 cuMulticastBindMem_v2
    334 cuMulticastCreate
    335 cuMulticastGetGranularity
    336 cuMulticastUnbind
    337 cuOccupancyAvailableDynamicSMemPerBlock
    338 cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
    339 cuOccupancyMaxActiveClusters
    340 cuOccupancyMaxPotentialBlockSize
    341 cuOccupancyMaxPotentialBlockSizeWithFlags
    342 cuOccupancyMaxPotentialClusterSize
    343 cuParamSetSize
    344 cuParamSetTexRef
    345 cuParamSetf
    346 cuParamSeti
    347 cuParamSetv
    348 cuPointerGetAttribute
    349 cuPointerGetAttributes
    350 cuPointerSetAttribute
    351 cuProfilerInitialize
    352 cuProfilerStart
    353 cuProfilerStop
    354 cuSignalExternalSemaphoresAsync
    355 cuStreamAddCallback
    356 cuStreamAttachMemAsync
    357 cuStreamBatchMemOp
    358 cuStreamBatchMemOp_v2
    359 cuStreamBeginCaptureToCig
    360 cuStreamBeginCaptureToGraph
    361 cuStreamBeginRecaptureToGraph
    362 cuStreamCopyAttributes
    363 cuStreamEndCaptureToCig
    364 cuStreamGetAttribute
    365 cuStreamGetCaptureInfo
    366 cuStreamGetCaptureInfo_v2
    367 cuStreamGetCaptureInfo_v3
    368 cuStreamGetCtx
    369 cuStreamGetCtx_v2
    370 cuStreamGetDevResource
    371 cuStreamGetDevice
    372 cuStreamGetGreenCtx
    373 cuStreamGetId
    374 cuStreamSetAttribute
    375 cuStreamUpdateCaptureDependencies
    376 cuStreamUpdateCaptureDependencies_v2
    377 cuStreamWaitValue32
    378 cuStreamWaitValue32_v2
    379 cuStreamWaitValue64
    380 cuStreamWaitValue64_v2
    381 cuStreamWriteValue32
    382 cuStreamWriteValue32_v2
    383 cuStreamWriteValue64
    384 cuStreamWriteValue64_v2
    385 cuSurfObjectCreate
    386 cuSurfObjectDestroy
    387 cuSurfObjectGetResourceDesc
    388 cuSurfRefGetArray
    389 cuSurfRefSetArray
    390 cuTensorMapEncodeIm2col
    391 cuTensorMapEncodeIm2colWide
    392 cuTensorMapEncodeTiled
    393 cuTensorMapReplaceAddress
    394 cuTexObjectCreate
    395 cuTexObjectDestroy
    396 cuTexObjectGetResourceDesc
    397 cuTexObjectGetResourceViewDesc
    398 cuTexObjectGetTextureDesc
    399 cuTexRefCreate
    400 cuTexRefDestroy
    401 cuTexRefGetAddressMode
    402 cuTexRefGetAddress_v2
    403 cuTexRefGetArray
    404 cuTexRefGetBorderColor
    405 cuTexRefGetFilterMode
    406 cuTexRefGetFlags
    407 cuTexRefGetFormat
    408 cuTexRefGetMaxAnisotropy
    409 cuTexRefGetMipmapFilterMode
    410 cuTexRefGetMipmapLevelBias
    411 cuTexRefGetMipmapLevelClamp
    412 cuTexRefGetMipmappedArray
    413 cuTexRefSetAddress2D_v3
    414 cuTexRefSetAddressMode
    415 cuTexRefSetAddress_v2
    416 cuTexRefSetArray
    417 cuTexRefSetBorderColor
    418 cuTexRefSetFilterMode
    419 cuTexRefSetFlags
    420 cuTexRefSetFormat
    421 cuTexRefSetMaxAnisotropy
    422 cuTexRefSetMipmapFilterMode
    423 cuTexRefSetMipmapLevelBias
    424 cuTexRefSetMipmapLevelClamp
    425 cuTexRefSetMipmappedArray
    426 cuThreadExchangeStreamCaptureMode
    427 cuUserObjectCreate
    428 cuUserObjectRelease
    429 cuUserObjectRetain
    430 cuWaitExternalSemaphoresAsync
}
