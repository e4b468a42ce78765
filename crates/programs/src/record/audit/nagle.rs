//! Messages that wait for an acknowledgement of the one before.

use super::examined::{Examined, Said, of};
use super::findings;
use super::group::Group;
use crate::record::channels::TcpDelays;

pub(super) fn nagle(examined: &Examined<'_>) -> Said {
    let is_tcp = |group: &&Group| ["tcp", "tcp6"].contains(&group.kind);
    let delays = TcpDelays::of(examined.log);
    let (true, Some(delays)) = (examined.groups.iter().any(|group| is_tcp(&group)), delays) else {
        return Err("no channel uses TCP");
    };
    let said = |group: &Group| {
        let delayed = delays.writes(&group.connections)?;
        Some(of(group, findings::nagle(group.kind, &delayed)))
    };
    Ok(examined.groups.iter().filter(is_tcp).filter_map(said).collect())
}
