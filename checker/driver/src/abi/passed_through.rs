//! Every other call that cudarc 0.19.10 binds: refused by name on the simulated device, passed on
//! untouched on a GPU.
//!
//! Their signatures do not matter here: each is a jump through a table, with all arguments where
//! the caller put them. The table says "refuse" until the real driver's addresses are entered.

use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{CUresult, code};
use crate::call;
use crate::say::say;

/// Where each call goes.
static TABLE: [AtomicUsize; NAMES.len()] = [const { AtomicUsize::new(0) }; NAMES.len()];

/// Enters the real driver's addresses, once.
pub(super) fn connect(symbol: impl Fn(&str) -> Option<usize>) {
    static CONNECTED: Once = Once::new();
    CONNECTED.call_once(|| {
        for (entry, name) in TABLE.iter().zip(NAMES) {
            if let Some(address) = symbol(name) {
                entry.store(address, Ordering::Release);
            }
        }
    });
}

extern "C" fn refuse(index: u32) -> CUresult {
    let name = NAMES[index as usize];
    say(&match call::gpu() {
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
    22 cuCtxFromGreenCtx
    23 cuCtxGetApiVersion
    24 cuCtxGetCacheConfig
    25 cuCtxGetDevResource
    26 cuCtxGetDevice_v2
    27 cuCtxGetExecAffinity
    28 cuCtxGetId
    29 cuCtxGetLimit
    30 cuCtxGetSharedMemConfig
    31 cuCtxRecordEvent
    32 cuCtxResetPersistingL2Cache
    33 cuCtxSetCacheConfig
    34 cuCtxSetLimit
    35 cuCtxSetSharedMemConfig
    36 cuCtxSynchronize_v2
    37 cuCtxWaitEvent
    38 cuDestroyExternalMemory
    39 cuDestroyExternalSemaphore
    40 cuDevResourceGenerateDesc
    41 cuDevSmResourceSplit
    42 cuDevSmResourceSplitByCount
    43 cuDeviceGetByPCIBusId
    44 cuDeviceGetCliqueCount
    45 cuDeviceGetCliqueInfo
    46 cuDeviceGetDevResource
    47 cuDeviceGetExecAffinitySupport
    48 cuDeviceGetFabricClusterUuid
    49 cuDeviceGetGraphMemAttribute
    50 cuDeviceGetHostAtomicCapabilities
    51 cuDeviceGetLuid
    52 cuDeviceGetP2PAtomicCapabilities
    53 cuDeviceGetPCIBusId
    54 cuDeviceGetProperties
    55 cuDeviceGetTexture1DLinearMaxWidth
    56 cuDeviceGraphMemTrim
    57 cuDevicePrimaryCtxReset_v2
    58 cuDeviceRegisterAsyncNotification
    59 cuDeviceSetGraphMemAttribute
    60 cuDeviceUnregisterAsyncNotification
    61 cuExternalMemoryGetMappedBuffer
    62 cuExternalMemoryGetMappedMipmappedArray
    63 cuFlushGPUDirectRDMAWrites
    64 cuFuncGetModule
    65 cuFuncGetName
    66 cuFuncGetParamCount
    67 cuFuncGetParamInfo
    68 cuFuncIsLoaded
    69 cuFuncLoad
    70 cuFuncSetBlockShape
    71 cuFuncSetSharedMemConfig
    72 cuFuncSetSharedSize
    73 cuGetExportTable
    74 cuGetProcAddress
    75 cuGetProcAddress_v2
    76 cuGraphAddBatchMemOpNode
    77 cuGraphAddChildGraphNode
    78 cuGraphAddDependencies
    79 cuGraphAddDependencies_v2
    80 cuGraphAddEmptyNode
    81 cuGraphAddEventRecordNode
    82 cuGraphAddEventWaitNode
    83 cuGraphAddExternalSemaphoresSignalNode
    84 cuGraphAddExternalSemaphoresWaitNode
    85 cuGraphAddHostNode
    86 cuGraphAddKernelNode
    87 cuGraphAddKernelNode_v2
    88 cuGraphAddMemAllocNode
    89 cuGraphAddMemFreeNode
    90 cuGraphAddMemcpyNode
    91 cuGraphAddMemsetNode
    92 cuGraphAddNode
    93 cuGraphAddNode_v2
    94 cuGraphAddNode_v3
    95 cuGraphBatchMemOpNodeGetParams
    96 cuGraphBatchMemOpNodeSetParams
    97 cuGraphChildGraphNodeGetGraph
    98 cuGraphClone
    99 cuGraphConditionalHandleCreate
    100 cuGraphCreate
    101 cuGraphDebugDotPrint
    102 cuGraphDestroyNode
    103 cuGraphEventRecordNodeGetEvent
    104 cuGraphEventRecordNodeSetEvent
    105 cuGraphEventWaitNodeGetEvent
    106 cuGraphEventWaitNodeSetEvent
    107 cuGraphExecBatchMemOpNodeSetParams
    108 cuGraphExecChildGraphNodeSetParams
    109 cuGraphExecEventRecordNodeSetEvent
    110 cuGraphExecEventWaitNodeSetEvent
    111 cuGraphExecExternalSemaphoresSignalNodeSetParams
    112 cuGraphExecExternalSemaphoresWaitNodeSetParams
    113 cuGraphExecGetFlags
    114 cuGraphExecGetId
    115 cuGraphExecHostNodeSetParams
    116 cuGraphExecKernelNodeSetParams
    117 cuGraphExecKernelNodeSetParams_v2
    118 cuGraphExecMemcpyNodeSetParams
    119 cuGraphExecMemsetNodeSetParams
    120 cuGraphExecNodeSetParams
    121 cuGraphExecUpdate
    122 cuGraphExternalSemaphoresSignalNodeGetParams
    123 cuGraphExternalSemaphoresSignalNodeSetParams
    124 cuGraphExternalSemaphoresWaitNodeGetParams
    125 cuGraphExternalSemaphoresWaitNodeSetParams
    126 cuGraphGetEdges
    127 cuGraphGetEdges_v2
    128 cuGraphGetId
    129 cuGraphGetNodes
    130 cuGraphGetRootNodes
    131 cuGraphHostNodeGetParams
    132 cuGraphHostNodeSetParams
    133 cuGraphInstantiateWithParams
    134 cuGraphInstantiate_v2
    135 cuGraphKernelNodeCopyAttributes
    136 cuGraphKernelNodeGetAttribute
    137 cuGraphKernelNodeGetParams
    138 cuGraphKernelNodeGetParams_v2
    139 cuGraphKernelNodeSetAttribute
    140 cuGraphKernelNodeSetParams
    141 cuGraphKernelNodeSetParams_v2
    142 cuGraphMemAllocNodeGetParams
    143 cuGraphMemFreeNodeGetParams
    144 cuGraphMemcpyNodeGetParams
    145 cuGraphMemcpyNodeSetParams
    146 cuGraphMemsetNodeGetParams
    147 cuGraphMemsetNodeSetParams
    148 cuGraphNodeFindInClone
    149 cuGraphNodeGetContainingGraph
    150 cuGraphNodeGetDependencies
    151 cuGraphNodeGetDependencies_v2
    152 cuGraphNodeGetDependentNodes
    153 cuGraphNodeGetDependentNodes_v2
    154 cuGraphNodeGetEnabled
    155 cuGraphNodeGetLocalId
    156 cuGraphNodeGetParams
    157 cuGraphNodeGetToolsId
    158 cuGraphNodeGetType
    159 cuGraphNodeSetEnabled
    160 cuGraphNodeSetParams
    161 cuGraphNodeSetParams_v2
    162 cuGraphReleaseUserObject
    163 cuGraphRemoveDependencies
    164 cuGraphRemoveDependencies_v2
    165 cuGraphRetainUserObject
    166 cuGraphicsMapResources
    167 cuGraphicsResourceGetMappedMipmappedArray
    168 cuGraphicsResourceGetMappedPointer_v2
    169 cuGraphicsResourceSetMapFlags_v2
    170 cuGraphicsSubResourceGetMappedArray
    171 cuGraphicsUnmapResources
    172 cuGraphicsUnregisterResource
    173 cuGreenCtxCreate
    174 cuGreenCtxDestroy
    175 cuGreenCtxGetDevResource
    176 cuGreenCtxGetId
    177 cuGreenCtxRecordEvent
    178 cuGreenCtxStreamCreate
    179 cuGreenCtxWaitEvent
    180 cuImportExternalMemory
    181 cuImportExternalSemaphore
    182 cuIpcCloseMemHandle
    183 cuIpcGetEventHandle
    184 cuIpcGetMemHandle
    185 cuIpcOpenEventHandle
    186 cuIpcOpenMemHandle_v2
    187 cuKernelGetAttribute
    188 cuKernelGetFunction
    189 cuKernelGetLibrary
    190 cuKernelGetName
    191 cuKernelGetParamCount
    192 cuKernelGetParamInfo
    193 cuKernelSetAttribute
    194 cuKernelSetCacheConfig
    195 cuLaunch
    196 cuLaunchCooperativeKernel
    197 cuLaunchCooperativeKernelMultiDevice
    198 cuLaunchGrid
    199 cuLaunchGridAsync
    200 cuLaunchHostFunc_v2
    201 cuLaunchKernelEx
    202 cuLibraryEnumerateKernels
    203 cuLibraryGetGlobal
    204 cuLibraryGetKernel
    205 cuLibraryGetKernelCount
    206 cuLibraryGetManaged
    207 cuLibraryGetModule
    208 cuLibraryGetUnifiedFunction
    209 cuLibraryLoadData
    210 cuLibraryLoadFromFile
    211 cuLibraryUnload
    212 cuLinkAddData_v2
    213 cuLinkAddFile_v2
    214 cuLinkComplete
    215 cuLinkCreate_v2
    216 cuLinkDestroy
    217 cuLogicalEndpointAddDevice
    218 cuLogicalEndpointBindAddr
    219 cuLogicalEndpointBindMem
    220 cuLogicalEndpointCreate
    221 cuLogicalEndpointDestroy
    222 cuLogicalEndpointExport
    223 cuLogicalEndpointGetLimits
    224 cuLogicalEndpointIdRelease
    225 cuLogicalEndpointIdReserve
    226 cuLogicalEndpointImport
    227 cuLogicalEndpointQuery
    228 cuLogicalEndpointUnbind
    229 cuLogsCurrent
    230 cuLogsDumpToFile
    231 cuLogsDumpToMemory
    232 cuLogsRegisterCallback
    233 cuLogsUnregisterCallback
    234 cuMemAddressFree
    235 cuMemAddressReserve
    236 cuMemAdvise
    237 cuMemAdvise_v2
    238 cuMemAllocManaged
    239 cuMemAllocPitch_v2
    240 cuMemBatchDecompressAsync
    241 cuMemCreate
    242 cuMemDiscardAndPrefetchBatchAsync
    243 cuMemDiscardBatchAsync
    244 cuMemExportToShareableHandle
    245 cuMemGetAccess
    246 cuMemGetAddressRange_v2
    247 cuMemGetAllocationGranularity
    248 cuMemGetAllocationPropertiesFromHandle
    249 cuMemGetDefaultMemPool
    250 cuMemGetHandleForAddressRange
    251 cuMemGetLocationInfo
    252 cuMemGetMemPool
    253 cuMemHostGetFlags
    254 cuMemHostRegister_v2
    255 cuMemHostUnregister
    256 cuMemImportFromShareableHandle
    257 cuMemMap
    258 cuMemMapArrayAsync
    259 cuMemPoolCreate
    260 cuMemPoolDestroy
    261 cuMemPoolExportPointer
    262 cuMemPoolExportToShareableHandle
    263 cuMemPoolGetAccess
    264 cuMemPoolImportFromShareableHandle
    265 cuMemPoolImportPointer
    266 cuMemPrefetchAsync
    267 cuMemPrefetchAsync_v2
    268 cuMemPrefetchBatchAsync
    269 cuMemRangeGetAttribute
    270 cuMemRangeGetAttributes
    271 cuMemRelease
    272 cuMemRetainAllocationHandle
    273 cuMemSetAccess
    274 cuMemSetMemPool
    275 cuMemUnmap
    276 cuMemcpy2DAsync_v2
    277 cuMemcpy2DUnaligned_v2
    278 cuMemcpy2D_v2
    279 cuMemcpy3DAsync_v2
    280 cuMemcpy3DBatchAsync
    281 cuMemcpy3DBatchAsync_v2
    282 cuMemcpy3DPeer
    283 cuMemcpy3DPeerAsync
    284 cuMemcpy3DWithAttributesAsync
    285 cuMemcpy3D_v2
    286 cuMemcpyAtoA_v2
    287 cuMemcpyAtoD_v2
    288 cuMemcpyAtoHAsync_v2
    289 cuMemcpyAtoH_v2
    290 cuMemcpyBatchAsync
    291 cuMemcpyBatchAsync_v2
    292 cuMemcpyDtoA_v2
    293 cuMemcpyHtoAAsync_v2
    294 cuMemcpyHtoA_v2
    295 cuMemcpyWithAttributesAsync
    296 cuMemsetD2D16Async
    297 cuMemsetD2D16_v2
    298 cuMemsetD2D32Async
    299 cuMemsetD2D32_v2
    300 cuMemsetD2D8Async
    301 cuMemsetD2D8_v2
    302 cuMipmappedArrayCreate
    303 cuMipmappedArrayDestroy
    304 cuMipmappedArrayGetLevel
    305 cuMipmappedArrayGetMemoryRequirements
    306 cuMipmappedArrayGetSparseProperties
    307 cuModuleEnumerateFunctions
    308 cuModuleGetFunctionCount
    309 cuModuleGetGlobal_v2
    310 cuModuleGetLoadingMode
    311 cuModuleGetSurfRef
    312 cuModuleGetTexRef
    313 cuModuleLoadFatBinary
    314 cuMulticastAddDevice
    315 cuMulticastBindAddr
    316 cuMulticastBindAddr_v2
    317 cuMulticastBindMem
    318 cuMulticastBindMem_v2
    319 cuMulticastCreate
    320 cuMulticastGetGranularity
    321 cuMulticastUnbind
    322 cuOccupancyAvailableDynamicSMemPerBlock
    323 cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
    324 cuOccupancyMaxActiveClusters
    325 cuOccupancyMaxPotentialBlockSize
    326 cuOccupancyMaxPotentialBlockSizeWithFlags
    327 cuOccupancyMaxPotentialClusterSize
    328 cuParamSetSize
    329 cuParamSetTexRef
    330 cuParamSetf
    331 cuParamSeti
    332 cuParamSetv
    333 cuPointerGetAttribute
    334 cuPointerGetAttributes
    335 cuPointerSetAttribute
    336 cuProfilerInitialize
    337 cuProfilerStart
    338 cuProfilerStop
    339 cuSignalExternalSemaphoresAsync
    340 cuStreamAddCallback
    341 cuStreamAttachMemAsync
    342 cuStreamBatchMemOp
    343 cuStreamBatchMemOp_v2
    344 cuStreamBeginCaptureToCig
    345 cuStreamBeginCaptureToGraph
    346 cuStreamBeginRecaptureToGraph
    347 cuStreamCopyAttributes
    348 cuStreamEndCaptureToCig
    349 cuStreamGetAttribute
    350 cuStreamGetCaptureInfo
    351 cuStreamGetCaptureInfo_v2
    352 cuStreamGetCaptureInfo_v3
    353 cuStreamGetCtx
    354 cuStreamGetCtx_v2
    355 cuStreamGetDevResource
    356 cuStreamGetDevice
    357 cuStreamGetGreenCtx
    358 cuStreamGetId
    359 cuStreamSetAttribute
    360 cuStreamUpdateCaptureDependencies
    361 cuStreamUpdateCaptureDependencies_v2
    362 cuStreamWaitValue32
    363 cuStreamWaitValue32_v2
    364 cuStreamWaitValue64
    365 cuStreamWaitValue64_v2
    366 cuStreamWriteValue32
    367 cuStreamWriteValue32_v2
    368 cuStreamWriteValue64
    369 cuStreamWriteValue64_v2
    370 cuSurfObjectCreate
    371 cuSurfObjectDestroy
    372 cuSurfObjectGetResourceDesc
    373 cuSurfRefGetArray
    374 cuSurfRefSetArray
    375 cuTensorMapEncodeIm2col
    376 cuTensorMapEncodeIm2colWide
    377 cuTensorMapEncodeTiled
    378 cuTensorMapReplaceAddress
    379 cuTexObjectCreate
    380 cuTexObjectDestroy
    381 cuTexObjectGetResourceDesc
    382 cuTexObjectGetResourceViewDesc
    383 cuTexObjectGetTextureDesc
    384 cuTexRefCreate
    385 cuTexRefDestroy
    386 cuTexRefGetAddressMode
    387 cuTexRefGetAddress_v2
    388 cuTexRefGetArray
    389 cuTexRefGetBorderColor
    390 cuTexRefGetFilterMode
    391 cuTexRefGetFlags
    392 cuTexRefGetFormat
    393 cuTexRefGetMaxAnisotropy
    394 cuTexRefGetMipmapFilterMode
    395 cuTexRefGetMipmapLevelBias
    396 cuTexRefGetMipmapLevelClamp
    397 cuTexRefGetMipmappedArray
    398 cuTexRefSetAddress2D_v3
    399 cuTexRefSetAddressMode
    400 cuTexRefSetAddress_v2
    401 cuTexRefSetArray
    402 cuTexRefSetBorderColor
    403 cuTexRefSetFilterMode
    404 cuTexRefSetFlags
    405 cuTexRefSetFormat
    406 cuTexRefSetMaxAnisotropy
    407 cuTexRefSetMipmapFilterMode
    408 cuTexRefSetMipmapLevelBias
    409 cuTexRefSetMipmapLevelClamp
    410 cuTexRefSetMipmappedArray
    411 cuUserObjectCreate
    412 cuUserObjectRelease
    413 cuUserObjectRetain
    414 cuWaitExternalSemaphoresAsync
}
