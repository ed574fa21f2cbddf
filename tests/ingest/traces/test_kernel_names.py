"""Kernel names: what communicates, which collective, and a stable family."""

from __future__ import annotations

import gzip
import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.traces.kernel_names import (
    FAMILY_CHARS,
    collective_name,
    collective_of,
    family,
    kind_of,
)

COMM = [
    ("ncclAllReduceRingLLKernel_sum_f32(ncclColl)", "allreduce", "nccl AllReduce"),
    ("ncclAllGatherRingKernel_copy_i8(ncclColl)", "allgather", "nccl AllGather"),
    (
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
        "allreduce", "nccl AllReduce",
    ),
    ("ncclKernel_AllReduce_TREE_LL128_Sum___nv_bfloat16(ncclDevComm*)", "allreduce",
     "nccl AllReduce"),
    ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", "sendrecv", "nccl SendRecv"),
    ("ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*)", "broadcast", "nccl Broadcast"),
    ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "allreduce",
     "nccl AllReduce"),
    ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
     "reducescatter", "nccl ReduceScatter"),
    ("ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "reduce",
     "nccl Reduce"),
    ("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", None, "nccl Generic"),
    ("ncclDevKernel_Generic(ncclDevComm*, unsigned long, ncclWork*)", None, "nccl Generic"),
    ("ncclSymkDevKernel_AllGather_STMC(ncclSymkDevWorkArgs4K)", "allgather", "nccl AllGather"),
    ("ncclSymDevKernel_AllReduce_AGxLL_R_sum_bf16(ncclSymDevArgs)", "allreduce",
     "nccl AllReduce"),
    ("void mscclKernel_Sum_half_LL<false>(mscclWork*)", None, "mscclKernel_Sum_half_LL"),
    ("void mscclpp::allreduce7<__half>(int*)", "allreduce", "mscclpp::allreduce7"),
    ("void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*)", "alltoall",
     "deep_ep::dispatch"),
    ("void deep_ep::internode_ll::combine<true, 7168, 11>(void*)", "alltoall",
     "deep_ep::combine"),
    ("void deep_ep::intranode::notify_dispatch<8>(int const*)", "alltoall",
     "deep_ep::notify_dispatch"),
    ("void mori::moe::EpDispatchIntraNodeKernel<__hip_bfloat16>(mori::moe::Args)", "alltoall",
     "mori::EpDispatchIntraNodeKernel"),
    ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)", "allreduce",
     "vllm::cross_device_reduce_1stage"),
    ("void sglang::cross_device_reduce_2stage<__half, 4>(sglang::RankData*)", "allreduce",
     "sglang::cross_device_reduce_2stage"),
    ("void tensorrt_llm::kernels::oneShotAllReduceKernel<__nv_bfloat16, 8>(P)", "allreduce",
     "tensorrt_llm::oneShotAllReduceKernel"),
    ("void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<"
     "(flashinfer::AllReduceFusionPattern)1, __nv_bfloat16, 4, true>(P)", "allreduce",
     "flashinfer::allreduce_fusion_kernel_oneshot_lamport"),
    ("void quickreduce::allreduce_prototype_twoshot<quickreduce::AllReduceTwoshot<__half> >(int)",
     "allreduce", "quickreduce::allreduce_prototype_twoshot"),
    ("void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)",
     "allreduce", "multimem_all_reduce_kernel"),
    ("void c10d::symmetric_memory::one_shot_all_reduce_kernel<float, 16, 8>(float**)",
     "allreduce", "c10d::one_shot_all_reduce_kernel"),
    ("two_shot_all_reduce_kernel", "allreduce", "two_shot_all_reduce_kernel"),
    ("void (anonymous namespace)::barrier_kernel(unsigned int**, unsigned long)", "barrier",
     "barrier_kernel"),
    ("void tensorrt_llm::kernels::mnnvl::moeA2ADispatchKernel<8>(P)", "alltoall",
     "tensorrt_llm::moeA2ADispatchKernel"),
]  # fmt: skip
COMPUTE = [
    ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
     "at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator()("
     "at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4> >(int)",
     "reduce sum"),
    ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
     "at::native::MeanOps<float, float>, unsigned int, float, 4> >(int)", "reduce mean"),
    ("void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*)",
     "vectorized_gather_kernel"),
    ("void at::native::_scatter_gather_elementwise_kernel<128, 4, "
     "at::native::_cuda_scatter_gather_internal_kernel<true, float>::operator()<"
     "at::native::ReduceAdd>(at::TensorIterator&, long)::{lambda(int)#1}>(int)",
     "elementwise reduce_add"),
    ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 64, 64>"
     "(float*)", "CatArrayBatchedCopy"),
    ("void at::native::(anonymous namespace)::indexSelectLargeIndex<long, long, unsigned int, 1, "
     "1, -2, true>(int)", "indexSelectLargeIndex"),
    ("void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>"
     ", std::array<char*, 3ul> >(int)", "elementwise add"),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, "
     "float, at::native::binary_internal::MulFunctor<float> >, at::detail::Array<char*, 2> >(int)",
     "elementwise mul"),
    ("void at::native::vectorized_elementwise_kernel<8, at::native::GeluCUDAKernelImpl("
     "at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const::{lambda("
     "c10::BFloat16)#1}, std::array<char*, 2ul> >(int)", "elementwise gelu"),
    ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
     "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::"
     "FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>, float const*>(int)",
     "multi_tensor fused_adam_math"),
    ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
     "namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::BinaryOpScalarFunctor<"
     "float, 1, 1, 0>, std::multiplies<float>, float>(int)", "multi_tensor binary_op_scalar mul"),
    ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "nvjet_sm90_tst"),
    ("nvjet_sm90_tst_128x8_64x12_2x1_v_bz_splitK_NNT", "nvjet_sm90_tst"),
    ("sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4"
     "_alignc4_execute_kernel__5x_cublas", "sm80_xmma_gemm_f32f32_f32f32_f32"),
    ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>("
     "P)", "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16"),
    ("cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_void_f16_128x128x64_2x1x1_0_tnn_align8",
     "cutlass3x_sm90_tensorop_sgemm_f16_f16_f32_void_f16"),
    ("void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<"
     "flash::CollectiveMainloopFwdSm90<2> > > >(P)", "cutlass FlashAttnFwdSm90"),
    ("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int> > >(P)",
     "cutlass GemmUniversal"),
    ("ampere_sgemm_128x64_nn", "ampere_sgemm"),
    ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_nn", "ampere_bf16_s16816gemm_bf16"),
    ("volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", "volta_scudnn_winograd"),
    ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1"
     "_cga1x1x1_kernel0_0", "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16"),
    ("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128>>(P)",
     "pytorch_flash::flash_fwd_kernel"),
    ("fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>)",
     "fmha_cutlassF_f32_aligned"),
    ("triton_poi_fused_add_3", "triton_poi_fused_add"),
    ("triton_poi_fused_0", "triton_poi_fused"),
    ("triton_red_fused__to_copy_all_reduce_wait_tensor_12",
     "triton_red_fused__to_copy_all_reduce_wait_tensor"),
    ("triton__0d1d2d3d4d5d", "triton"),
    ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x256_MI16x16x1_SN",
     "Cijk_Alik_Bljk_BBS_BH"),
    ("void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, int, int>::P, "
     "false>(int*)", "cub::DeviceRadixSortOnesweepKernel"),
    ("void at_cuda_detail::cub::detail::radix_sort::DeviceRadixSortOnesweepKernel<long>(int*)",
     "cub::DeviceRadixSortOnesweepKernel"),
    ("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float>(int)",
     "gemvx::kernel"),
    ("std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
     "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)",
     "vllm::fused_add_rms_norm_kernel"),
    ("_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassE",
     "ck_tile Rmsnorm2dFwd"),
    ("void deep_ep::layout::get_dispatch_layout<8, 32>(long const*)",
     "deep_ep::get_dispatch_layout"),
    ("_combined_routing_compute", "_combined_routing_compute"),
    ("void moe::dev::finalize::finalizeKernelVecLoad<P>(P)", "moe::finalizeKernelVecLoad"),
    ("Cijk_Ailk_Bljk_HHS_BH_MT64x64x32_SN.kd", "Cijk_Ailk_Bljk_HHS_BH"),
    ("my_kernel.kd", "my_kernel"),
    ("void ck::kernel_x<ck::P>(ck::P) [clone .kd]", "ck::kernel_x"),
    ("_ZN5aiter24fmha_fwd_hd128_bf16_rtneE.kd", "aiter::fmha_fwd_hd128_bf16_rtne"),
    ("void symmetric_gemm_all_reduce<float>(P)", "symmetric_gemm_all_reduce"),
    ("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD"),
    ("Memset (Device)", "Memset"),
    ("at::cuda::(anonymous namespace)::spin_kernel(long)", "spin_kernel"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "collective", "short"), COMM)
def test_a_collective_of_any_library_communicates(
    name: str, collective: str | None, short: str
) -> None:
    assert kind_of(name) == "comm"
    assert collective_of(name) == collective
    assert family(name) == short


@pytest.mark.parametrize(("name", "short"), COMPUTE)
def test_other_kernels_compute_whatever_words_they_use(name: str, short: str) -> None:
    assert kind_of(name) == "compute"
    assert collective_of(name) is None
    assert family(name) == short


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("nccl:all_reduce", "allreduce"),
        ("nccl:_all_gather_base", "allgather"),
        ("nccl:_reduce_scatter_base", "reducescatter"),
        ("nccl:all_reduce_barrier", "barrier"),
        ("gloo:broadcast", "broadcast"),
        ("nccl:all_to_allv", "alltoall"),
        ("_allgather_base", "allgather"),
        ("allreduce_coalesced", "allreduce"),
        ("nccl:reduce", "reduce"),
        ("nccl:send 0->1", "send"),
        ("nccl:recv 1<-0", "recv"),
        ("SCATTER", "scatter"),
        ("wait", "wait"),
        ("", ""),
    ],
)
def test_a_collective_has_one_name_in_all_sources(label: str, name: str) -> None:
    assert collective_name(label) == name


def test_each_word_of_one_library_and_format_is_one_family() -> None:
    tiles = ["128x160_64x5_4x2_h_bz_NTT", "64x128_64x8_2x1_v_bz_NTN", "192x192_64x3_1x2_h_bz_TNN"]
    assert {family(f"nvjet_sm90_tst_{tile}") for tile in tiles} == {"nvjet_sm90_tst"}
    assert family("nvjet_sm90_hsh_128x160_64x5_4x2_h_bz_NTT") == "nvjet_sm90_hsh"


@pytest.mark.parametrize(
    "name",
    [
        "", " ", "\x00\x01", "\ud800", "<" * 5000, ">" * 5000, "(" * 5000, "a<" * 3000,
        "::" * 3000, "_1" * 4000, "_n" * 4000, "_ZN" + "9" * 5000, "triton_" + "_1" * 3000,
        "void " * 2000, "_0d1" + "d1" * 3000, "x" * 1_000_000, "a_" + "f" * 100_000 + "(",
        "_ZN3abc", "_ZN9999abc", "{lambda(", "operator()", "(anonymous namespace)::",
    ],
)  # fmt: skip
def test_hostile_names_take_little_time_and_give_some_family(name: str) -> None:
    start = time.process_time()
    short = family(name)
    assert kind_of(name) == "compute"
    assert time.process_time() - start < 1
    assert 0 < len(short) <= FAMILY_CHARS
    assert family(short) == short


PARTS = st.sampled_from([
    "void ", "at::native::", "(anonymous namespace)::", "reduce_kernel", "<", ">", "(", ")", ", ",
    "elementwise_kernel", "multi_tensor_apply_kernel", "triton_poi_fused_add", "_3", "_128x64",
    "{lambda()#1}", "::operator()() const", "nccl", "DevKernel_AllReduce", "_ZN", "6Kernel",
    "ILi1E", "cutlass::Kernel2", "MulFunctor", "_nn", "_v1", "float", " ", "-", "Memset",
    "Memcpy HtoD", "Cijk_Alik_Bljk", "_BBS", "_MT16x16", "\n", "é",
])  # fmt: skip


@given(st.lists(PARTS, max_size=30).map("".join) | st.text(max_size=300))
def test_a_family_is_short_stable_and_its_own_family(name: str) -> None:
    short = family(name)
    assert 0 < len(short) <= FAMILY_CHARS
    assert family(short) == short
    assert not re.search(r"[\x00-\x1f]", short)
    assert kind_of(name) in {"comm", "compute"}
    assert (collective_of(name) is None) or kind_of(name) == "comm"


def _gpu_events(path: Path) -> set[tuple[str, str]]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    document = json.loads(text)
    events = document["traceEvents"] if isinstance(document, dict) else document
    wanted = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"}
    return {
        (event["name"], event["cat"].lower())
        for event in events
        if str(event.get("cat", "")).lower() in wanted
    }


@pytest.mark.slow
def test_the_kernels_of_real_traces(shared_data: Path) -> None:
    """Every name of real traces: what communicates is what says so, and families are few."""
    paths = [
        *(shared_data / "recordings").glob("*/job_*/kineto/*.json.gz"),
        *(shared_data / "traces").glob("*.json.gz"),
        *(shared_data / "traces").glob("*.json"),
    ]
    names = {pair for path in paths for pair in _gpu_events(path)}
    assert len(names) > 500
    comm = {name for name, _ in names if kind_of(name) == "comm"}
    assert comm == {
        name for name, _ in names if name.startswith("nccl") or "multimem_all_reduce" in name
    }
    families = {family(name) for name, _ in names}
    assert len(families) < len(names) / 2
    for name, _ in names:
        assert family(family(name)) == family(name)
        assert kind_of(family(name)) == kind_of(name)
