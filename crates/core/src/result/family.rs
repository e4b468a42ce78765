//! Cells that differ in one thing alone.

use super::cell::{Cell, KnobReading};

impl Cell {
    /// Whether another cell is the same but for the number of channels.
    #[must_use]
    pub fn differs_in_channels_from(&self, other: &Self) -> bool {
        let but_for = |cell: &Self| {
            let mut key = cell.key.clone();
            key.load.channels = 0;
            let asked = |(name, knob): (&String, &KnobReading)| {
                Some((name.clone(), knob.requested.clone()?))
            };
            (key, cell.knobs.iter().filter_map(asked).collect::<Vec<_>>())
        };
        but_for(self) == but_for(other)
    }
}
