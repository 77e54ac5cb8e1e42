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
    126 cuGraphExternalSemaphoresSignalNodeGetParams
    127 cuGraphExternalSemaphoresSignalNodeSetParams
    128 cuGraphExternalSemaphoresWaitNodeGetParams
    129 cuGraphExternalSemaphoresWaitNodeSetParams
    130 cuGraphGetEdges
    131 cuGraphGetEdges_v2
    132 cuGraphGetId
    133 cuGraphGetNodes
    134 cuGraphGetRootNodes
    135 cuGraphHostNodeGetParams
    136 cuGraphHostNodeSetParams
    137 cuGraphInstantiateWithParams
    138 cuGraphInstantiate_v2
    139 cuGraphKernelNodeCopyAttributes
    140 cuGraphKernelNodeGetAttribute
    141 cuGraphKernelNodeGetParams
    142 cuGraphKernelNodeGetParams_v2
    143 cuGraphKernelNodeSetAttribute
    144 cuGraphKernelNodeSetParams
    145 cuGraphKernelNodeSetParams_v2
    146 cuGraphMemAllocNodeGetParams
    147 cuGraphMemFreeNodeGetParams
    148 cuGraphMemcpyNodeGetParams
    149 cuGraphMemcpyNodeSetParams
    150 cuGraphMemsetNodeGetParams
    151 cuGraphMemsetNodeSetParams
    152 cuGraphNodeFindInClone
    153 cuGraphNodeGetContainingGraph
    154 cuGraphNodeGetDependencies
    155 cuGraphNodeGetDependencies_v2
    156 cuGraphNodeGetDependentNodes
    157 cuGraphNodeGetDependentNodes_v2
    158 cuGraphNodeGetEnabled
    159 cuGraphNodeGetLocalId
    160 cuGraphNodeGetParams
    161 cuGraphNodeGetToolsId
    162 cuGraphNodeGetType
    163 cuGraphNodeSetEnabled
    164 cuGraphNodeSetParams
    165 cuGraphNodeSetParams_v2
    166 cuGraphReleaseUserObject
    167 cuGraphRemoveDependencies
    168 cuGraphRemoveDependencies_v2
    169 cuGraphRetainUserObject
    170 cuGraphicsMapResources
    171 cuGraphicsResourceGetMappedMipmappedArray
    172 cuGraphicsResourceGetMappedPointer_v2
    173 cuGraphicsResourceSetMapFlags_v2
    174 cuGraphicsSubResourceGetMappedArray
    175 cuGraphicsUnmapResources
    176 cuGraphicsUnregisterResource
    177 cuGreenCtxCreate
    178 cuGreenCtxDestroy
    179 cuGreenCtxGetDevResource
    180 cuGreenCtxGetId
    181 cuGreenCtxRecordEvent
    182 cuGreenCtxStreamCreate
    183 cuGreenCtxWaitEvent
    184 cuImportExternalMemory
    185 cuImportExternalSemaphore
    186 cuIpcCloseMemHandle
    187 cuIpcGetEventHandle
    188 cuIpcGetMemHandle
    189 cuIpcOpenEventHandle
    190 cuIpcOpenMemHandle_v2
    191 cuKernelGetAttribute
    192 cuKernelGetFunction
    193 cuKernelGetLibrary
    194 cuKernelGetName
    195 cuKernelGetParamCount
    196 cuKernelGetParamInfo
    197 cuKernelSetAttribute
    198 cuKernelSetCacheConfig
    199 cuLaunch
    200 cuLaunchCooperativeKernel
    201 cuLaunchCooperativeKernelMultiDevice
    202 cuLaunchGrid
    203 cuLaunchGridAsync
    204 cuLaunchHostFunc_v2
    205 cuLaunchKernelEx
    206 cuLibraryEnumerateKernels
    207 cuLibraryGetGlobal
    208 cuLibraryGetKernel
    209 cuLibraryGetKernelCount
    210 cuLibraryGetManaged
    211 cuLibraryGetModule
    212 cuLibraryGetUnifiedFunction
    213 cuLibraryLoadData
    214 cuLibraryLoadFromFile
    215 cuLibraryUnload
    216 cuLinkAddData_v2
    217 cuLinkAddFile_v2
    218 cuLinkComplete
    219 cuLinkCreate_v2
    220 cuLinkDestroy
    221 cuLogicalEndpointAddDevice
    222 cuLogicalEndpointBindAddr
    223 cuLogicalEndpointBindMem
    224 cuLogicalEndpointCreate
    225 cuLogicalEndpointDestroy
    226 cuLogicalEndpointExport
    227 cuLogicalEndpointGetLimits
    228 cuLogicalEndpointIdRelease
    229 cuLogicalEndpointIdReserve
    230 cuLogicalEndpointImport
    231 cuLogicalEndpointQuery
    232 cuLogicalEndpointUnbind
    233 cuLogsCurrent
    234 cuLogsDumpToFile
    235 cuLogsDumpToMemory
    236 cuLogsRegisterCallback
    237 cuLogsUnregisterCallback
    238 cuMemAddressFree
    239 cuMemAddressReserve
    240 cuMemAdvise
    241 cuMemAdvise_v2
    242 cuMemAllocManaged
    243 cuMemAllocPitch_v2
    244 cuMemBatchDecompressAsync
    245 cuMemCreate
    246 cuMemDiscardAndPrefetchBatchAsync
    247 cuMemDiscardBatchAsync
    248 cuMemExportToShareableHandle
    249 cuMemGetAccess
    250 cuMemGetAddressRange_v2
    251 cuMemGetAllocationGranularity
    252 cuMemGetAllocationPropertiesFromHandle
    253 cuMemGetDefaultMemPool
    254 cuMemGetHandleForAddressRange
    255 cuMemGetLocationInfo
    256 cuMemGetMemPool
    257 cuMemHostGetFlags
    258 cuMemHostRegister_v2
    259 cuMemHostUnregister
    260 cuMemImportFromShareableHandle
    261 cuMemMap
    262 cuMemMapArrayAsync
    263 cuMemPoolCreate
    264 cuMemPoolDestroy
    265 cuMemPoolExportPointer
    266 cuMemPoolExportToShareableHandle
    267 cuMemPoolGetAccess
    268 cuMemPoolImportFromShareableHandle
    269 cuMemPoolImportPointer
    270 cuMemPoolSetAccess
    271 cuMemPrefetchAsync
    272 cuMemPrefetchAsync_v2
    273 cuMemPrefetchBatchAsync
    274 cuMemRangeGetAttribute
    275 cuMemRangeGetAttributes
    276 cuMemRelease
    277 cuMemRetainAllocationHandle
    278 cuMemSetAccess
    279 cuMemSetMemPool
    280 cuMemUnmap
    281 cuMemcpy2DAsync_v2
    282 cuMemcpy2DUnaligned_v2
    283 cuMemcpy2D_v2
    284 cuMemcpy3DAsync_v2
    285 cuMemcpy3DBatchAsync
    286 cuMemcpy3DBatchAsync_v2
    287 cuMemcpy3DPeer
    288 cuMemcpy3DPeerAsync
    289 cuMemcpy3DWithAttributesAsync
    290 cuMemcpy3D_v2
    291 cuMemcpyAtoA_v2
    292 cuMemcpyAtoD_v2
    293 cuMemcpyAtoHAsync_v2
    294 cuMemcpyAtoH_v2
    295 cuMemcpyBatchAsync
    296 cuMemcpyBatchAsync_v2
    297 cuMemcpyDtoA_v2
    298 cuMemcpyHtoAAsync_v2
    299 cuMemcpyHtoA_v2
    300 cuMemcpyPeer
    301 cuMemcpyPeerAsync
    302 cuMemcpyWithAttributesAsync
    303 cuMemsetD2D16Async
    304 cuMemsetD2D16_v2
    305 cuMemsetD2D32Async
    306 cuMemsetD2D32_v2
    307 cuMemsetD2D8Async
    308 cuMemsetD2D8_v2
    309 cuMipmappedArrayCreate
    310 cuMipmappedArrayDestroy
    311 cuMipmappedArrayGetLevel
    312 cuMipmappedArrayGetMemoryRequirements
    313 cuMipmappedArrayGetSparseProperties
    314 cuModuleEnumerateFunctions
    315 cuModuleGetFunctionCount
    316 cuModuleGetGlobal_v2
    317 cuModuleGetLoadingMode
    318 cuModuleGetSurfRef
    319 cuModuleGetTexRef
    320 cuModuleLoadFatBinary
    321 cuMulticastAddDevice
    322 cuMulticastBindAddr
    323 cuMulticastBindAddr_v2
    324 cuMulticastBindMem
    325 cuMulticastBindMem_v2
    326 cuMulticastCreate
    327 cuMulticastGetGranularity
    328 cuMulticastUnbind
    329 cuOccupancyAvailableDynamicSMemPerBlock
    330 cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
    331 cuOccupancyMaxActiveClusters
    332 cuOccupancyMaxPotentialBlockSize
    333 cuOccupancyMaxPotentialBlockSizeWithFlags
    334 cuOccupancyMaxPotentialClusterSize
    335 cuParamSetSize
    336 cuParamSetTexRef
    337 cuParamSetf
    338 cuParamSeti
    339 cuParamSetv
    340 cuPointerGetAttribute
    341 cuPointerGetAttributes
    342 cuPointerSetAttribute
    343 cuProfilerInitialize
    344 cuProfilerStart
    345 cuProfilerStop
    346 cuSignalExternalSemaphoresAsync
    347 cuStreamAddCallback
    348 cuStreamAttachMemAsync
    349 cuStreamBatchMemOp
    350 cuStreamBatchMemOp_v2
    351 cuStreamBeginCaptureToCig
    352 cuStreamBeginCaptureToGraph
    353 cuStreamBeginRecaptureToGraph
    354 cuStreamCopyAttributes
    355 cuStreamEndCaptureToCig
    356 cuStreamGetAttribute
    357 cuStreamGetCaptureInfo
    358 cuStreamGetCaptureInfo_v2
    359 cuStreamGetCaptureInfo_v3
    360 cuStreamGetCtx
    361 cuStreamGetCtx_v2
    362 cuStreamGetDevResource
    363 cuStreamGetDevice
    364 cuStreamGetGreenCtx
    365 cuStreamGetId
    366 cuStreamSetAttribute
    367 cuStreamUpdateCaptureDependencies
    368 cuStreamUpdateCaptureDependencies_v2
    369 cuStreamWaitValue32
    370 cuStreamWaitValue32_v2
    371 cuStreamWaitValue64
    372 cuStreamWaitValue64_v2
    373 cuStreamWriteValue32
    374 cuStreamWriteValue32_v2
    375 cuStreamWriteValue64
    376 cuStreamWriteValue64_v2
    377 cuSurfObjectCreate
    378 cuSurfObjectDestroy
    379 cuSurfObjectGetResourceDesc
    380 cuSurfRefGetArray
    381 cuSurfRefSetArray
    382 cuTensorMapEncodeIm2col
    383 cuTensorMapEncodeIm2colWide
    384 cuTensorMapEncodeTiled
    385 cuTensorMapReplaceAddress
    386 cuTexObjectCreate
    387 cuTexObjectDestroy
    388 cuTexObjectGetResourceDesc
    389 cuTexObjectGetResourceViewDesc
    390 cuTexObjectGetTextureDesc
    391 cuTexRefCreate
    392 cuTexRefDestroy
    393 cuTexRefGetAddressMode
    394 cuTexRefGetAddress_v2
    395 cuTexRefGetArray
    396 cuTexRefGetBorderColor
    397 cuTexRefGetFilterMode
    398 cuTexRefGetFlags
    399 cuTexRefGetFormat
    400 cuTexRefGetMaxAnisotropy
    401 cuTexRefGetMipmapFilterMode
    402 cuTexRefGetMipmapLevelBias
    403 cuTexRefGetMipmapLevelClamp
    404 cuTexRefGetMipmappedArray
    405 cuTexRefSetAddress2D_v3
    406 cuTexRefSetAddressMode
    407 cuTexRefSetAddress_v2
    408 cuTexRefSetArray
    409 cuTexRefSetBorderColor
    410 cuTexRefSetFilterMode
    411 cuTexRefSetFlags
    412 cuTexRefSetFormat
    413 cuTexRefSetMaxAnisotropy
    414 cuTexRefSetMipmapFilterMode
    415 cuTexRefSetMipmapLevelBias
    416 cuTexRefSetMipmapLevelClamp
    417 cuTexRefSetMipmappedArray
    418 cuUserObjectCreate
    419 cuUserObjectRelease
    420 cuUserObjectRetain
    421 cuWaitExternalSemaphoresAsync
}
