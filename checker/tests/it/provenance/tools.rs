/// What everybody can know and do who reads the exercises.
#[allow(dead_code)]
mod tools {
    use std::sync::Arc;

    use cudarc::driver::{
        CudaContext, CudaFunction, CudaStream, LaunchConfig, PushKernelArg, sys,
    };
    use lab::Result;

    /// Rounds of each map, and elements of each array in memory: from the record of the reference.
    pub const ROUNDS: u32 = __ROUNDS__;
    pub const ELEMENTS: usize = __ELEMENTS__;
    pub const SEED: u64 = 0x5717_2026;
    /// Where the device's memory begins; blocks lie in the order in which they are asked for.
    pub const DEVICE: u64 = 0x0200_0000_0000;

    pub const A: (u32, u32) = (1_664_525, 1_013_904_223);
    pub const B: (u32, u32) = (22_695_477, 1);
    pub const C: (u32, u32) = (1_103_515_245, 12_345);

    fn then(first: (u32, u32), next: (u32, u32)) -> (u32, u32) {
        (
            first.0.wrapping_mul(next.0),
            next.0.wrapping_mul(first.1).wrapping_add(next.1),
        )
    }

    /// All rounds of the maps, in order, as one.
    pub fn maps(stages: &[(u32, u32)]) -> (u32, u32) {
        let mut whole = (1, 0);
        for stage in stages {
            let (mut square, mut left) = (*stage, ROUNDS);
            while left > 0 {
                if left & 1 == 1 {
                    whole = then(whole, square);
                }
                square = then(square, square);
                left >>= 1;
            }
        }
        whole
    }

    pub fn apply(map: (u32, u32), x: u32) -> u32 {
        map.0.wrapping_mul(x).wrapping_add(map.1)
    }

    /// An element of a given array.
    pub fn input(array: u32, index: u64) -> u32 {
        let seed = SEED.wrapping_add(array.into()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (index ^ seed).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed ^ (mixed >> 32)) as u32
    }

    /// Where the block is, of blocks of so many elements each.
    pub fn block(index: usize, elements: usize) -> u64 {
        DEVICE + (index * ((elements * 4).next_multiple_of(512) + 512)) as u64
    }

    pub fn kernel(context: &Arc<CudaContext>, name: &str) -> Result<CudaFunction> {
        let ptx = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/kernels/ptx/map.ptx"));
        Ok(context.load_module(cudarc::nvrtc::Ptx::from_src(ptx))?.load_function(name)?)
    }

    pub fn launch(
        stream: &Arc<CudaStream>,
        kernel: &CudaFunction,
        at: u64,
        elements: usize,
        blocks: u32,
    ) -> Result<()> {
        let config =
            LaunchConfig { grid_dim: (blocks, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
        let elements = elements as u32;
        let mut builder = stream.launch_builder(kernel);
        builder.arg(&at).arg(&at).arg(&elements).arg(&ROUNDS);
        unsafe { builder.launch(config)? };
        Ok(())
    }

    pub fn upload(stream: &Arc<CudaStream>, to: u64, words: &[u32]) -> Result<()> {
        let from = words.as_ptr().cast();
        let done =
            unsafe { sys::cuMemcpyHtoDAsync_v2(to, from, words.len() * 4, stream.cu_stream()) };
        assert_eq!(done, sys::CUresult::CUDA_SUCCESS);
        Ok(())
    }

    pub fn download(stream: &Arc<CudaStream>, to: &mut [u32], from: u64) -> Result<()> {
        let (at, bytes) = (to.as_mut_ptr().cast(), to.len() * 4);
        let done = unsafe { sys::cuMemcpyDtoHAsync_v2(at, from, bytes, stream.cu_stream()) };
        assert_eq!(done, sys::CUresult::CUDA_SUCCESS);
        Ok(())
    }

    unsafe extern "C" {
        fn dlopen(name: *const std::ffi::c_char, flags: i32) -> *mut u8;
        fn dlsym(library: *mut u8, name: *const std::ffi::c_char) -> *mut u8;
    }

    /// Puts bytes to the driver library, as the lab does. True if they were not refused.
    pub fn ask(request: &[u8]) -> bool {
        type Call = unsafe extern "C" fn(*const u8, usize, *mut u8, usize) -> isize;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let line = maps.lines().find(|line| line.ends_with("libswim_driver.so")).unwrap();
        let path = std::ffi::CString::new(&line[line.find('/').unwrap()..]).unwrap();
        let mut reply = vec![0; 1 << 16];
        let length = unsafe {
            let call = dlsym(dlopen(path.as_ptr(), 2), c"swim_call".as_ptr());
            let call: Call = std::mem::transmute(call);
            call(request.as_ptr(), request.len(), reply.as_mut_ptr(), reply.len())
        };
        // `Refused` is the last kind of reply, and has words.
        if length > 2 && reply[0] == 6 {
            println!("{}", String::from_utf8_lossy(&reply[1..length as usize]));
        }
        length > 0 && reply[0] != 6
    }

    /// A request, number by number.
    #[derive(Default)]
    pub struct Words(pub Vec<u8>);

    impl Words {
        pub fn number(mut self, mut number: u64) -> Self {
            while number >= 0x80 {
                self.0.push(number as u8 | 0x80);
                number >>= 7;
            }
            self.0.push(number as u8);
            self
        }

        pub fn text(self, text: &str) -> Self {
            let mut words = self.number(text.len() as u64);
            words.0.extend(text.bytes());
            words
        }

        /// Buffers, each by array, first element, address and bytes.
        pub fn buffers(self, buffers: &[[u64; 4]]) -> Self {
            let words = self.number(buffers.len() as u64);
            buffers.iter().flatten().fold(words, |words, &number| words.number(number))
        }
    }

    pub fn begin(
        task: &str,
        seed: u64,
        pass: u64,
        inputs: &[[u64; 4]],
        outputs: &[[u64; 4]],
    ) -> bool {
        let words = Words::default().number(4).text("").number(pass).text(task).number(seed);
        ask(&words.buffers(inputs).buffers(outputs).0)
    }

    pub fn end() -> bool {
        ask(&[5])
    }

    pub fn load(place: [u64; 4], ns: u64) -> bool {
        let words = Words::default().number(7);
        let words = place.iter().fold(words, |words, &number| words.number(number));
        ask(&words.number(place[3]).number(ns).number(0).0)
    }

    pub fn keep(from: u64, to: u64, bytes: u64) -> bool {
        ask(&Words::default().number(8).number(from).number(to).number(bytes).0)
    }
}
