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
        None => call::unsupported(name),
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
    49 cuDeviceGetDevResource
    50 cuDeviceGetExecAffinitySupport
    51 cuDeviceGetFabricClusterUuid
    52 cuDeviceGetGraphMemAttribute
    53 cuDeviceGetHostAtomicCapabilities
    54 cuDeviceGetLuid
    55 cuDeviceGetP2PAtomicCapabilities
    56 cuDeviceGetP2PAttribute
    57 cuDeviceGetPCIBusId
    58 cuDeviceGetProperties
    59 cuDeviceGetTexture1DLinearMaxWidth
    60 cuDeviceGraphMemTrim
    61 cuDevicePrimaryCtxReset_v2
    62 cuDeviceRegisterAsyncNotification
    63 cuDeviceSetGraphMemAttribute
    64 cuDeviceUnregisterAsyncNotification
    65 cuExternalMemoryGetMappedBuffer
    66 cuExternalMemoryGetMappedMipmappedArray
    67 cuFlushGPUDirectRDMAWrites
    68 cuFuncGetModule
    69 cuFuncGetName
    70 cuFuncGetParamCount
    71 cuFuncGetParamInfo
    72 cuFuncIsLoaded
    73 cuFuncLoad
    74 cuFuncSetBlockShape
    75 cuFuncSetSharedMemConfig
    76 cuFuncSetSharedSize
    77 cuGetExportTable
    78 cuGetProcAddress
    79 cuGetProcAddress_v2
    80 cuGraphAddBatchMemOpNode
    81 cuGraphAddChildGraphNode
    82 cuGraphAddDependencies
    83 cuGraphAddDependencies_v2
    84 cuGraphAddEmptyNode
    85 cuGraphAddEventRecordNode
    86 cuGraphAddEventWaitNode
    87 cuGraphAddExternalSemaphoresSignalNode
    88 cuGraphAddExternalSemaphoresWaitNode
    89 cuGraphAddHostNode
    90 cuGraphAddKernelNode
    91 cuGraphAddKernelNode_v2
    92 cuGraphAddMemAllocNode
    93 cuGraphAddMemFreeNode
    94 cuGraphAddMemcpyNode
    95 cuGraphAddMemsetNode
    96 cuGraphAddNode
    97 cuGraphAddNode_v2
    98 cuGraphAddNode_v3
    99 cuGraphBatchMemOpNodeGetParams
    100 cuGraphBatchMemOpNodeSetParams
    101 cuGraphChildGraphNodeGetGraph
    102 cuGraphClone
    103 cuGraphConditionalHandleCreate
    104 cuGraphCreate
    105 cuGraphDebugDotPrint
    106 cuGraphDestroyNode
    107 cuGraphEventRecordNodeGetEvent
    108 cuGraphEventRecordNodeSetEvent
    109 cuGraphEventWaitNodeGetEvent
    110 cuGraphEventWaitNodeSetEvent
    111 cuGraphExecBatchMemOpNodeSetParams
    112 cuGraphExecChildGraphNodeSetParams
    113 cuGraphExecEventRecordNodeSetEvent
    114 cuGraphExecEventWaitNodeSetEvent
    115 cuGraphExecExternalSemaphoresSignalNodeSetParams
    116 cuGraphExecExternalSemaphoresWaitNodeSetParams
    117 cuGraphExecGetFlags
    118 cuGraphExecGetId
    119 cuGraphExecHostNodeSetParams
    120 cuGraphExecKernelNodeSetParams
    121 cuGraphExecKernelNodeSetParams_v2
    122 cuGraphExecMemcpyNodeSetParams
    123 cuGraphExecMemsetNodeSetParams
    124 cuGraphExecNodeSetParams
    125 cuGraphExecUpdate
    126 cuGraphExecUpdate_v2
    127 cuGraphExternalSemaphoresSignalNodeGetParams
    128 cuGraphExternalSemaphoresSignalNodeSetParams
    129 cuGraphExternalSemaphoresWaitNodeGetParams
    130 cuGraphExternalSemaphoresWaitNodeSetParams
    131 cuGraphGetEdges
    132 cuGraphGetEdges_v2
    133 cuGraphGetId
    134 cuGraphGetNodes
    135 cuGraphGetRootNodes
    136 cuGraphHostNodeGetParams
    137 cuGraphHostNodeSetParams
    138 cuGraphInstantiateWithParams
    139 cuGraphInstantiate_v2
    140 cuGraphKernelNodeCopyAttributes
    141 cuGraphKernelNodeGetAttribute
    142 cuGraphKernelNodeGetParams
    143 cuGraphKernelNodeGetParams_v2
    144 cuGraphKernelNodeSetAttribute
    145 cuGraphKernelNodeSetParams
    146 cuGraphKernelNodeSetParams_v2
    147 cuGraphMemAllocNodeGetParams
    148 cuGraphMemFreeNodeGetParams
    149 cuGraphMemcpyNodeGetParams
    150 cuGraphMemcpyNodeSetParams
    151 cuGraphMemsetNodeGetParams
    152 cuGraphMemsetNodeSetParams
    153 cuGraphNodeFindInClone
    154 cuGraphNodeGetContainingGraph
    155 cuGraphNodeGetDependencies
    156 cuGraphNodeGetDependencies_v2
    157 cuGraphNodeGetDependentNodes
    158 cuGraphNodeGetDependentNodes_v2
    159 cuGraphNodeGetEnabled
    160 cuGraphNodeGetLocalId
    161 cuGraphNodeGetParams
    162 cuGraphNodeGetToolsId
    163 cuGraphNodeGetType
    164 cuGraphNodeSetEnabled
    165 cuGraphNodeSetParams
    166 cuGraphNodeSetParams_v2
    167 cuGraphReleaseUserObject
    168 cuGraphRemoveDependencies
    169 cuGraphRemoveDependencies_v2
    170 cuGraphRetainUserObject
    171 cuGraphicsMapResources
    172 cuGraphicsResourceGetMappedMipmappedArray
    173 cuGraphicsResourceGetMappedPointer_v2
    174 cuGraphicsResourceSetMapFlags_v2
    175 cuGraphicsSubResourceGetMappedArray
    176 cuGraphicsUnmapResources
    177 cuGraphicsUnregisterResource
    178 cuGreenCtxCreate
    179 cuGreenCtxDestroy
    180 cuGreenCtxGetDevResource
    181 cuGreenCtxGetId
    182 cuGreenCtxRecordEvent
    183 cuGreenCtxStreamCreate
    184 cuGreenCtxWaitEvent
    185 cuImportExternalMemory
    186 cuImportExternalSemaphore
    187 cuIpcCloseMemHandle
    188 cuIpcGetEventHandle
    189 cuIpcGetMemHandle
    190 cuIpcOpenEventHandle
    191 cuIpcOpenMemHandle_v2
    192 cuKernelGetAttribute
    193 cuKernelGetFunction
    194 cuKernelGetLibrary
    195 cuKernelGetName
    196 cuKernelGetParamCount
    197 cuKernelGetParamInfo
    198 cuKernelSetAttribute
    199 cuKernelSetCacheConfig
    200 cuLaunch
    201 cuLaunchCooperativeKernel
    202 cuLaunchCooperativeKernelMultiDevice
    203 cuLaunchGrid
    204 cuLaunchGridAsync
    205 cuLaunchHostFunc_v2
    206 cuLaunchKernelEx
    207 cuLibraryEnumerateKernels
    208 cuLibraryGetGlobal
    209 cuLibraryGetKernel
    210 cuLibraryGetKernelCount
    211 cuLibraryGetManaged
    212 cuLibraryGetModule
    213 cuLibraryGetUnifiedFunction
    214 cuLibraryLoadData
    215 cuLibraryLoadFromFile
    216 cuLibraryUnload
    217 cuLinkAddData_v2
    218 cuLinkAddFile_v2
    219 cuLinkComplete
    220 cuLinkCreate_v2
    221 cuLinkDestroy
    222 cuLogicalEndpointAddDevice
    223 cuLogicalEndpointBindAddr
    224 cuLogicalEndpointBindMem
    225 cuLogicalEndpointCreate
    226 cuLogicalEndpointDestroy
    227 cuLogicalEndpointExport
    228 cuLogicalEndpointGetLimits
    229 cuLogicalEndpointIdRelease
    230 cuLogicalEndpointIdReserve
    231 cuLogicalEndpointImport
    232 cuLogicalEndpointQuery
    233 cuLogicalEndpointUnbind
    234 cuLogsCurrent
    235 cuLogsDumpToFile
    236 cuLogsDumpToMemory
    237 cuLogsRegisterCallback
    238 cuLogsUnregisterCallback
    239 cuMemAddressFree
    240 cuMemAddressReserve
    241 cuMemAdvise
    242 cuMemAdvise_v2
    243 cuMemAllocManaged
    244 cuMemAllocPitch_v2
    245 cuMemBatchDecompressAsync
    246 cuMemCreate
    247 cuMemDiscardAndPrefetchBatchAsync
    248 cuMemDiscardBatchAsync
    249 cuMemExportToShareableHandle
    250 cuMemGetAccess
    251 cuMemGetAddressRange_v2
    252 cuMemGetAllocationGranularity
    253 cuMemGetAllocationPropertiesFromHandle
    254 cuMemGetDefaultMemPool
    255 cuMemGetHandleForAddressRange
    256 cuMemGetLocationInfo
    257 cuMemGetMemPool
    258 cuMemHostGetFlags
    259 cuMemHostRegister_v2
    260 cuMemHostUnregister
    261 cuMemImportFromShareableHandle
    262 cuMemMap
    263 cuMemMapArrayAsync
    264 cuMemPoolCreate
    265 cuMemPoolDestroy
    266 cuMemPoolExportPointer
    267 cuMemPoolExportToShareableHandle
    268 cuMemPoolGetAccess
    269 cuMemPoolImportFromShareableHandle
    270 cuMemPoolImportPointer
    271 cuMemPoolSetAccess
    272 cuMemPrefetchAsync
    273 cuMemPrefetchAsync_v2
    274 cuMemPrefetchBatchAsync
    275 cuMemRangeGetAttribute
    276 cuMemRangeGetAttributes
    277 cuMemRelease
    278 cuMemRetainAllocationHandle
    279 cuMemSetAccess
    280 cuMemSetMemPool
    281 cuMemUnmap
    282 cuMemcpy2DAsync_v2
    283 cuMemcpy2DUnaligned_v2
    284 cuMemcpy2D_v2
    285 cuMemcpy3DAsync_v2
    286 cuMemcpy3DBatchAsync
    287 cuMemcpy3DBatchAsync_v2
    288 cuMemcpy3DPeer
    289 cuMemcpy3DPeerAsync
    290 cuMemcpy3DWithAttributesAsync
    291 cuMemcpy3D_v2
    292 cuMemcpyAtoA_v2
    293 cuMemcpyAtoD_v2
    294 cuMemcpyAtoHAsync_v2
    295 cuMemcpyAtoH_v2
    296 cuMemcpyBatchAsync
    297 cuMemcpyBatchAsync_v2
    298 cuMemcpyDtoA_v2
    299 cuMemcpyHtoAAsync_v2
    300 cuMemcpyHtoA_v2
    301 cuMemcpyPeer
    302 cuMemcpyPeerAsync
    303 cuMemcpyWithAttributesAsync
    304 cuMemsetD2D16Async
    305 cuMemsetD2D16_v2
    306 cuMemsetD2D32Async
    307 cuMemsetD2D32_v2
    308 cuMemsetD2D8Async
    309 cuMemsetD2D8_v2
    310 cuMipmappedArrayCreate
    311 cuMipmappedArrayDestroy
    312 cuMipmappedArrayGetLevel
    313 cuMipmappedArrayGetMemoryRequirements
    314 cuMipmappedArrayGetSparseProperties
    315 cuModuleEnumerateFunctions
    316 cuModuleGetFunctionCount
    317 cuModuleGetGlobal_v2
    318 cuModuleGetLoadingMode
    319 cuModuleGetSurfRef
    320 cuModuleGetTexRef
    321 cuModuleLoadFatBinary
    322 cuMulticastAddDevice
    323 cuMulticastBindAddr
    324 cuMulticastBindAddr_v2
    325 cuMulticastBindMem
    326 cuMulticastBindMem_v2
    327 cuMulticastCreate
    328 cuMulticastGetGranularity
    329 cuMulticastUnbind
    330 cuOccupancyAvailableDynamicSMemPerBlock
    331 cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
    332 cuOccupancyMaxActiveClusters
    333 cuOccupancyMaxPotentialBlockSize
    334 cuOccupancyMaxPotentialBlockSizeWithFlags
    335 cuOccupancyMaxPotentialClusterSize
    336 cuParamSetSize
    337 cuParamSetTexRef
    338 cuParamSetf
    339 cuParamSeti
    340 cuParamSetv
    341 cuPointerGetAttribute
    342 cuPointerGetAttributes
    343 cuPointerSetAttribute
    344 cuProfilerInitialize
    345 cuProfilerStart
    346 cuProfilerStop
    347 cuSignalExternalSemaphoresAsync
    348 cuStreamAddCallback
    349 cuStreamAttachMemAsync
    350 cuStreamBatchMemOp
    351 cuStreamBatchMemOp_v2
    352 cuStreamBeginCaptureToCig
    353 cuStreamBeginCaptureToGraph
    354 cuStreamBeginRecaptureToGraph
    355 cuStreamCopyAttributes
    356 cuStreamEndCaptureToCig
    357 cuStreamGetAttribute
    358 cuStreamGetCaptureInfo
    359 cuStreamGetCaptureInfo_v2
    360 cuStreamGetCaptureInfo_v3
    361 cuStreamGetCtx
    362 cuStreamGetCtx_v2
    363 cuStreamGetDevResource
    364 cuStreamGetDevice
    365 cuStreamGetGreenCtx
    366 cuStreamGetId
    367 cuStreamSetAttribute
    368 cuStreamUpdateCaptureDependencies
    369 cuStreamUpdateCaptureDependencies_v2
    370 cuStreamWaitValue32
    371 cuStreamWaitValue32_v2
    372 cuStreamWaitValue64
    373 cuStreamWaitValue64_v2
    374 cuStreamWriteValue32
    375 cuStreamWriteValue32_v2
    376 cuStreamWriteValue64
    377 cuStreamWriteValue64_v2
    378 cuSurfObjectCreate
    379 cuSurfObjectDestroy
    380 cuSurfObjectGetResourceDesc
    381 cuSurfRefGetArray
    382 cuSurfRefSetArray
    383 cuTensorMapEncodeIm2col
    384 cuTensorMapEncodeIm2colWide
    385 cuTensorMapEncodeTiled
    386 cuTensorMapReplaceAddress
    387 cuTexObjectCreate
    388 cuTexObjectDestroy
    389 cuTexObjectGetResourceDesc
    390 cuTexObjectGetResourceViewDesc
    391 cuTexObjectGetTextureDesc
    392 cuTexRefCreate
    393 cuTexRefDestroy
    394 cuTexRefGetAddressMode
    395 cuTexRefGetAddress_v2
    396 cuTexRefGetArray
    397 cuTexRefGetBorderColor
    398 cuTexRefGetFilterMode
    399 cuTexRefGetFlags
    400 cuTexRefGetFormat
    401 cuTexRefGetMaxAnisotropy
    402 cuTexRefGetMipmapFilterMode
    403 cuTexRefGetMipmapLevelBias
    404 cuTexRefGetMipmapLevelClamp
    405 cuTexRefGetMipmappedArray
    406 cuTexRefSetAddress2D_v3
    407 cuTexRefSetAddressMode
    408 cuTexRefSetAddress_v2
    409 cuTexRefSetArray
    410 cuTexRefSetBorderColor
    411 cuTexRefSetFilterMode
    412 cuTexRefSetFlags
    413 cuTexRefSetFormat
    414 cuTexRefSetMaxAnisotropy
    415 cuTexRefSetMipmapFilterMode
    416 cuTexRefSetMipmapLevelBias
    417 cuTexRefSetMipmapLevelClamp
    418 cuTexRefSetMipmappedArray
    419 cuUserObjectCreate
    420 cuUserObjectRelease
    421 cuUserObjectRetain
    422 cuWaitExternalSemaphoresAsync
}
