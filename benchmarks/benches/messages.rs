//! Time and allocations of single messages, without a wire: reading an envelope, and answering a
//! call or a list from its bytes to the bytes of the answer. `cargo bench -p haft-benchmarks`.

use divan::counter::BytesCount;
use divan::{AllocProfiler, Bencher, black_box};
use haft_benchmarks::{LEGACY_CALL, MODERN_CALL, MODERN_LIST, answer, large_call, server};
use haft_proto::envelope;
use haft_proto::limits::Limits;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// The envelope alone.
mod envelope_read {
    use super::*;

    fn read(bencher: Bencher<'_, '_>, message: &str) {
        let limits = Limits::default();
        let bencher = bencher.counter(BytesCount::new(message.len()));
        bencher.bench_local(|| envelope::read(black_box(message.as_bytes()), &limits).is_ok());
    }

    #[divan::bench]
    fn legacy_call(bencher: Bencher<'_, '_>) {
        read(bencher, LEGACY_CALL);
    }

    #[divan::bench]
    fn modern_call(bencher: Bencher<'_, '_>) {
        read(bencher, MODERN_CALL);
    }

    #[divan::bench]
    fn call_of_64_kib(bencher: Bencher<'_, '_>) {
        read(bencher, &large_call(64 * 1024));
    }
}

/// What a DOM of the same messages costs, to compare with.
mod dom_read {
    use super::*;

    fn read(bencher: Bencher<'_, '_>, message: &str) {
        let bencher = bencher.counter(BytesCount::new(message.len()));
        bencher.bench_local(|| {
            serde_json::from_slice::<serde_json::Value>(black_box(message.as_bytes())).is_ok()
        });
    }

    #[divan::bench]
    fn legacy_call(bencher: Bencher<'_, '_>) {
        read(bencher, LEGACY_CALL);
    }

    #[divan::bench]
    fn modern_call(bencher: Bencher<'_, '_>) {
        read(bencher, MODERN_CALL);
    }

    #[divan::bench]
    fn call_of_64_kib(bencher: Bencher<'_, '_>) {
        read(bencher, &large_call(64 * 1024));
    }
}

/// From the bytes of a request to the bytes of its answer.
mod bytes_to_bytes {
    use super::*;

    fn run(bencher: Bencher<'_, '_>, tools: usize, message: &str) {
        let (server, limits) = (server(tools), Limits::default());
        let mut out = Vec::with_capacity(1 << 20);
        bencher.bench_local(|| {
            out.clear();
            assert!(answer(&server, &limits, black_box(message.as_bytes()), &mut out));
            out.len()
        });
    }

    #[divan::bench]
    fn legacy_call(bencher: Bencher<'_, '_>) {
        run(bencher, 2, LEGACY_CALL);
    }

    #[divan::bench]
    fn modern_call(bencher: Bencher<'_, '_>) {
        run(bencher, 2, MODERN_CALL);
    }

    #[divan::bench]
    fn modern_call_among_130_tools(bencher: Bencher<'_, '_>) {
        run(bencher, 130, MODERN_CALL);
    }

    #[divan::bench]
    fn list_of_130_tools(bencher: Bencher<'_, '_>) {
        run(bencher, 130, MODERN_LIST);
    }
}
