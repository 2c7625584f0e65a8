//! The rules of the five changes on plain numbers, written without a look at how they are kept.

use std::collections::BTreeMap;

/// SKUs with how many of them.
pub(crate) type Units = Vec<(&'static str, i64)>;

#[derive(Debug, Clone)]
pub(crate) enum Change {
    Create {
        lines: Units,
        address: bool,
    },
    Update {
        order: usize,
        status: &'static str,
    },
    Cancel {
        order: usize,
        lines: Option<Units>,
    },
    Fulfill {
        order: usize,
        lines: Option<Units>,
        location: Option<&'static str>,
    },
    Return {
        order: usize,
        lines: Units,
    },
}

/// How many of a SKU of an order were ordered, and what became of them.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct SampleCounts {
    pub(crate) ordered: i64,
    pub(crate) sent: i64,
    pub(crate) cancelled: i64,
    pub(crate) back: i64,
}

#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) status: &'static str,
    pub(crate) address: bool,
    pub(crate) skus: BTreeMap<&'static str, SampleCounts>,
}

/// A failure: code, identifier, the status and the number that it tells.
#[derive(Debug, PartialEq)]
pub(crate) struct Failed(
    pub(crate) i64,
    pub(crate) &'static str,
    pub(crate) Option<&'static str>,
    pub(crate) Option<i64>,
);

/// The rules, on plain numbers.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) stock: BTreeMap<(&'static str, &'static str), i64>,
    pub(crate) orders: Vec<Order>,
}

fn no(name: &'static str) -> Failed {
    Failed(4001, name, None, None)
}

fn is_open(status: &str) -> bool {
    ["pending", "confirmed", "processing"].contains(&status)
}

impl Model {
    pub(crate) fn new() -> Model {
        let stock = [
            ("SHIRT-S", "loc_east", 5),
            ("SHIRT-S", "loc_west", 3),
            ("SHIRT-L", "loc_east", 0),
            ("SHIRT-L", "loc_west", 10),
        ];
        Model {
            stock: stock
                .into_iter()
                .map(|(sku, place, units)| ((sku, place), units))
                .collect(),
            orders: Vec::new(),
        }
    }

    pub(crate) fn on_hand(&self, sku: &str) -> i64 {
        self.stock
            .iter()
            .filter(|((of, _), _)| *of == sku)
            .map(|(_, units)| units)
            .sum()
    }

    pub(crate) fn reserved(&self, sku: &str) -> i64 {
        let open = self.orders.iter().filter(|order| is_open(order.status));
        open.filter_map(|order| order.skus.get(sku))
            .map(|one| one.ordered - one.sent - one.cancelled)
            .sum()
    }

    fn create(&mut self, lines: &Units, address: bool) -> Result<(), Failed> {
        if lines.iter().any(|(sku, _)| *sku == "NONE") {
            return Err(no("SKU_NOT_FOUND"));
        }
        let mut skus: BTreeMap<_, SampleCounts> = BTreeMap::new();
        for (sku, units) in lines {
            let counts = skus.entry(*sku).or_default();
            counts.ordered += units;
            let available = self.on_hand(sku) - self.reserved(sku);
            if counts.ordered > available {
                return Err(Failed(
                    4001,
                    "INSUFFICIENT_INVENTORY",
                    None,
                    Some(available),
                ));
            }
        }
        self.orders.push(Order {
            status: "pending",
            address,
            skus,
        });
        Ok(())
    }

    fn update(&mut self, order: usize, next: &'static str) -> Result<(), Failed> {
        let order = self.orders.get_mut(order).ok_or(no("ORDER_NOT_FOUND"))?;
        let steps = [
            ("pending", "confirmed"),
            ("confirmed", "processing"),
            ("shipped", "delivered"),
        ];
        if !steps.contains(&(order.status, next)) {
            return Err(Failed(
                4001,
                "INVALID_ORDER_STATE",
                Some(order.status),
                None,
            ));
        }
        order.status = next;
        Ok(())
    }

    /// What is asked of each SKU, where the order has as much as `room` says.
    fn wanted(
        order: &Order,
        lines: Option<&Units>,
        room: fn(&SampleCounts) -> i64,
        exceeds: &'static str,
    ) -> Result<BTreeMap<&'static str, i64>, Failed> {
        let mut sums = BTreeMap::new();
        let Some(lines) = lines else {
            return Ok(order
                .skus
                .iter()
                .map(|(sku, counts)| (*sku, room(counts)))
                .collect());
        };
        for (sku, units) in lines {
            let failed = |name, available| Failed(4001, name, Some(order.status), available);
            let room = room(order.skus.get(sku).ok_or(failed("SKU_NOT_FOUND", None))?);
            let sum: &mut i64 = sums.entry(*sku).or_default();
            *sum += units;
            if *sum > room {
                return Err(failed(exceeds, Some(room)));
            }
        }
        Ok(sums)
    }

    fn open(&self, order: usize) -> Result<&Order, Failed> {
        let order = self.orders.get(order).ok_or(no("ORDER_NOT_FOUND"))?;
        if is_open(order.status) {
            return Ok(order);
        }
        Err(Failed(
            4001,
            "INVALID_ORDER_STATE",
            Some(order.status),
            None,
        ))
    }

    fn cancel(&mut self, number: usize, lines: Option<&Units>) -> Result<(), Failed> {
        let open = |one: &SampleCounts| one.ordered - one.sent - one.cancelled;
        let sums = Model::wanted(self.open(number)?, lines, open, "QUANTITY_EXCEEDS_OPEN")?;
        let order = &mut self.orders[number];
        for (sku, units) in sums {
            order.skus.get_mut(sku).unwrap().cancelled += units;
        }
        if order.skus.values().all(|one| open(one) == 0) {
            let sent = order.skus.values().any(|one| one.sent > 0);
            order.status = if sent { "shipped" } else { "cancelled" };
        }
        Ok(())
    }

    fn fulfill(
        &mut self,
        number: usize,
        lines: Option<&Units>,
        location: Option<&str>,
    ) -> Result<(), Failed> {
        let open = |one: &SampleCounts| one.ordered - one.sent - one.cancelled;
        let order = self.open(number)?;
        if !order.address {
            return Err(Failed(2002, "", None, None));
        }
        if location == Some("loc_none") {
            return Err(no("LOCATION_NOT_FOUND"));
        }
        let sums = Model::wanted(order, lines, open, "QUANTITY_EXCEEDS_OPEN")?;
        let here = |place: &str| location.is_none_or(|location| location == place);
        for (sku, units) in &sums {
            let lies: i64 = self
                .stock
                .iter()
                .filter(|((of, place), _)| of == sku && here(place))
                .map(|(_, units)| units)
                .sum();
            if lies < *units {
                return Err(Failed(4001, "INSUFFICIENT_INVENTORY", None, Some(lies)));
            }
        }
        for (sku, units) in sums {
            // One by one, from the first place that has one.
            for _ in 0..units {
                let place = self
                    .stock
                    .iter_mut()
                    .find(|((of, place), left)| *of == sku && here(place) && **left > 0);
                *place.unwrap().1 -= 1;
            }
            self.orders[number].skus.get_mut(sku).unwrap().sent += units;
        }
        let order = &mut self.orders[number];
        if order.skus.values().all(|one| open(one) == 0) {
            order.status = "shipped";
        } else if order.status == "pending" {
            order.status = "confirmed";
        }
        Ok(())
    }

    fn take_back(&mut self, number: usize, lines: &Units) -> Result<(), Failed> {
        let order = self.orders.get_mut(number).ok_or(no("ORDER_NOT_FOUND"))?;
        let sums = Model::wanted(
            order,
            Some(lines),
            |one| one.sent - one.back,
            "RETURN_EXCEEDS_FULFILLED",
        )?;
        for (sku, units) in sums {
            order.skus.get_mut(sku).unwrap().back += units;
        }
        Ok(())
    }

    pub(crate) fn make(&mut self, change: &Change) -> Result<(), Failed> {
        match change {
            Change::Create { lines, address } => self.create(lines, *address),
            Change::Update { order, status } => self.update(*order, status),
            Change::Cancel { order, lines } => self.cancel(*order, lines.as_ref()),
            Change::Fulfill {
                order,
                lines,
                location,
            } => self.fulfill(*order, lines.as_ref(), *location),
            Change::Return { order, lines } => self.take_back(*order, lines),
        }
    }
}
