//! The JSON Schemas (2020-12) that the program prints, for the tests of this package and of those that write the documents.

pub(crate) const RESULT_SCHEMA: &str = include_str!("../../schema/ipcperf.result-2.schema.json");
pub(crate) const MECHANISMS_SCHEMA: &str =
    include_str!("../../schema/ipcperf.mechanisms-1.schema.json");
pub(crate) const REPLICATION_SCHEMA: &str =
    include_str!("../../schema/ipcperf.replication-1.schema.json");
pub(crate) const DOCTOR_SCHEMA: &str = include_str!("../../schema/ipcperf.doctor-1.schema.json");
pub(crate) const SELFTEST_SCHEMA: &str =
    include_str!("../../schema/ipcperf.selftest-1.schema.json");
pub(crate) const PROFILE_SCHEMA: &str = include_str!("../../schema/ipcperf.profile-1.schema.json");
pub(crate) const COMPARISON_SCHEMA: &str =
    include_str!("../../schema/ipcperf.comparison-1.schema.json");
