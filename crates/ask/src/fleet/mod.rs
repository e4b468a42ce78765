//! Many hosts: what their results have in common, which hosts are slow for their CPU and kernel, and the page that says so.

mod groups;
mod host;
mod screen;
#[cfg(test)]
mod tests;

pub(crate) use host::HostResult;
pub(crate) use screen::fleet_doc;
