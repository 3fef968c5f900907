// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Decoder.h"

using namespace ptxsim;

/// Whether a name is `prefix` and a number below `count`.
static bool isNumbered(std::string_view name, std::string_view prefix,
                       unsigned count) {
  if (name.substr(0, prefix.size()) != prefix)
    return false;
  name.remove_prefix(prefix.size());
  for (unsigned k = 0; k < count; ++k)
    if (name == std::to_string(k))
      return true;
  return false;
}

const Special *ptxsim::findSpecial(std::string_view name) {
  struct Row {
    std::string_view name;
    Special special;
  };
  static constexpr Row rows[] = {
      {"%tid.x", Special::TidX},
      {"%tid.y", Special::TidY},
      {"%tid.z", Special::TidZ},
      {"%tid.w", Special::Zero},
      {"%ntid.x", Special::NtidX},
      {"%ntid.y", Special::NtidY},
      {"%ntid.z", Special::NtidZ},
      {"%ntid.w", Special::Zero},
      {"%ctaid.x", Special::CtaidX},
      {"%ctaid.y", Special::CtaidY},
      {"%ctaid.z", Special::CtaidZ},
      {"%ctaid.w", Special::Zero},
      {"%nctaid.x", Special::NctaidX},
      {"%nctaid.y", Special::NctaidY},
      {"%nctaid.z", Special::NctaidZ},
      {"%nctaid.w", Special::Zero},
      {"%clusterid.x", Special::ClusteridX},
      {"%clusterid.y", Special::ClusteridY},
      {"%clusterid.z", Special::ClusteridZ},
      {"%clusterid.w", Special::Zero},
      {"%nclusterid.x", Special::NclusteridX},
      {"%nclusterid.y", Special::NclusteridY},
      {"%nclusterid.z", Special::NclusteridZ},
      {"%nclusterid.w", Special::Zero},
      {"%cluster_ctaid.x", Special::ClusterCtaidX},
      {"%cluster_ctaid.y", Special::ClusterCtaidY},
      {"%cluster_ctaid.z", Special::ClusterCtaidZ},
      {"%cluster_ctaid.w", Special::Zero},
      {"%cluster_nctaid.x", Special::ClusterNctaidX},
      {"%cluster_nctaid.y", Special::ClusterNctaidY},
      {"%cluster_nctaid.z", Special::ClusterNctaidZ},
      {"%cluster_nctaid.w", Special::Zero},
      {"%cluster_ctarank", Special::ClusterCtarank},
      {"%cluster_nctarank", Special::ClusterNctarank},
      {"%laneid", Special::Laneid},
      {"%warpid", Special::Warpid},
      {"%nwarpid", Special::Nwarpid},
      {"%smid", Special::Smid},
      {"%nsmid", Special::Nsmid},
      {"%lanemask_eq", Special::LanemaskEq},
      {"%lanemask_lt", Special::LanemaskLt},
      {"%lanemask_le", Special::LanemaskLe},
      {"%lanemask_gt", Special::LanemaskGt},
      {"%lanemask_ge", Special::LanemaskGe},
      {"%dynamic_smem_size", Special::DynamicSmemSize},
      {"%total_smem_size", Special::TotalSmemSize},
      {"%is_explicit_cluster", Special::IsExplicitCluster},
      {"%gridid", Special::GridId},
      {"%envreg1", Special::GridWorkspaceHigh},
      {"%envreg2", Special::GridWorkspaceLow},
      {"%aggr_smem_size", Special::AggrSmemSize},
      {"%reserved_smem_offset_begin", Special::ReservedSmemBegin},
      {"%reserved_smem_offset_end", Special::ReservedSmemEnd},
      {"%reserved_smem_offset_cap", Special::ReservedSmemCap},
      {"%reserved_smem_offset_0", Special::ReservedSmemFirst},
      {"%reserved_smem_offset_1", Special::ReservedSmemSecond}};
  for (const Row &row : rows)
    if (row.name == name)
      return &row.special;
  static constexpr Special zero = Special::Zero;
  if (isNumbered(name, "%envreg", 32) || isNumbered(name, "%pm", 8))
    return &zero;
  return nullptr;
}
