//! `GET …/config` and `GET …/pending` of a machine.

use crate::behaviour::guest::reading;
use crate::behaviour::{Answer, Call};
use crate::world::GuestKind;

pub(crate) fn config(call: &mut Call<'_>) -> Answer {
    reading::config(call, GuestKind::Vm)
}

pub(crate) fn pending(call: &mut Call<'_>) -> Answer {
    reading::pending(call, GuestKind::Vm)
}
