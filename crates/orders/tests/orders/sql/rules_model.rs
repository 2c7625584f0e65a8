//! A simple model of the five changes, independent of how they are stored.

use std::collections::BTreeMap;

/// Units of SKUs.
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

/// The units of a SKU in an order.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct UnitCounts {
    pub(crate) ordered: i64,
    pub(crate) sent: i64,
    pub(crate) cancelled: i64,
    pub(crate) back: i64,
}

#[derive(Debug)]
pub(crate) struct ModelOrder {
    pub(crate) status: &'static str,
    pub(crate) address: bool,
    pub(crate) skus: BTreeMap<&'static str, UnitCounts>,
}

/// A failure: code, identifier, status and available units.
#[derive(Debug, PartialEq)]
pub(crate) struct ExpectedFailure(
    pub(crate) i64,
    pub(crate) &'static str,
    pub(crate) Option<&'static str>,
    pub(crate) Option<i64>,
);

#[derive(Debug)]
pub(crate) struct RulesModel {
    pub(crate) stock: BTreeMap<(&'static str, &'static str), i64>,
    pub(crate) orders: Vec<ModelOrder>,
}

fn no(name: &'static str) -> ExpectedFailure {
    ExpectedFailure(4001, name, None, None)
}

fn is_open(status: &str) -> bool {
    ["pending", "confirmed", "processing"].contains(&status)
}

impl RulesModel {
    pub(crate) fn new() -> RulesModel {
        let stock = [
            ("SHIRT-S", "loc_east", 5),
            ("SHIRT-S", "loc_west", 3),
            ("SHIRT-L", "loc_east", 0),
            ("SHIRT-L", "loc_west", 10),
        ];
        RulesModel {
            stock: stock
                .into_iter()
                .map(|(sku, site, units)| ((sku, site), units))
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

    fn create(&mut self, lines: &Units, address: bool) -> Result<(), ExpectedFailure> {
        if lines.iter().any(|(sku, _)| *sku == "NONE") {
            return Err(no("SKU_NOT_FOUND"));
        }
        let mut skus: BTreeMap<_, UnitCounts> = BTreeMap::new();
        for (sku, units) in lines {
            let counts = skus.entry(*sku).or_default();
            counts.ordered += units;
            let available = self.on_hand(sku) - self.reserved(sku);
            if counts.ordered > available {
                return Err(ExpectedFailure(
                    4001,
                    "INSUFFICIENT_INVENTORY",
                    None,
                    Some(available),
                ));
            }
        }
        self.orders.push(ModelOrder {
            status: "pending",
            address,
            skus,
        });
        Ok(())
    }

    fn update(&mut self, order: usize, next: &'static str) -> Result<(), ExpectedFailure> {
        let order = self.orders.get_mut(order).ok_or(no("ORDER_NOT_FOUND"))?;
        let steps = [
            ("pending", "confirmed"),
            ("confirmed", "processing"),
            ("shipped", "delivered"),
        ];
        if !steps.contains(&(order.status, next)) {
            return Err(ExpectedFailure(
                4001,
                "INVALID_ORDER_STATE",
                Some(order.status),
                None,
            ));
        }
        order.status = next;
        Ok(())
    }

    /// Returns the requested units of each SKU, if the order has enough room for them.
    fn requested_units(
        order: &ModelOrder,
        lines: Option<&Units>,
        room: fn(&UnitCounts) -> i64,
        exceeds: &'static str,
    ) -> Result<BTreeMap<&'static str, i64>, ExpectedFailure> {
        let mut sums = BTreeMap::new();
        let Some(lines) = lines else {
            return Ok(order
                .skus
                .iter()
                .map(|(sku, counts)| (*sku, room(counts)))
                .collect());
        };
        for (sku, units) in lines {
            let failed =
                |name, available| ExpectedFailure(4001, name, Some(order.status), available);
            let room = room(order.skus.get(sku).ok_or(failed("SKU_NOT_FOUND", None))?);
            let sum: &mut i64 = sums.entry(*sku).or_default();
            *sum += units;
            if *sum > room {
                return Err(failed(exceeds, Some(room)));
            }
        }
        Ok(sums)
    }

    fn open(&self, order: usize) -> Result<&ModelOrder, ExpectedFailure> {
        let order = self.orders.get(order).ok_or(no("ORDER_NOT_FOUND"))?;
        if is_open(order.status) {
            return Ok(order);
        }
        Err(ExpectedFailure(
            4001,
            "INVALID_ORDER_STATE",
            Some(order.status),
            None,
        ))
    }

    fn cancel(&mut self, number: usize, lines: Option<&Units>) -> Result<(), ExpectedFailure> {
        let open = |one: &UnitCounts| one.ordered - one.sent - one.cancelled;
        let sums =
            RulesModel::requested_units(self.open(number)?, lines, open, "QUANTITY_EXCEEDS_OPEN")?;
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
    ) -> Result<(), ExpectedFailure> {
        let open = |one: &UnitCounts| one.ordered - one.sent - one.cancelled;
        let order = self.open(number)?;
        if !order.address {
            return Err(ExpectedFailure(2002, "", None, None));
        }
        if location == Some("loc_none") {
            return Err(no("LOCATION_NOT_FOUND"));
        }
        let sums = RulesModel::requested_units(order, lines, open, "QUANTITY_EXCEEDS_OPEN")?;
        let here = |site: &str| location.is_none_or(|location| location == site);
        for (sku, units) in &sums {
            let lies: i64 = self
                .stock
                .iter()
                .filter(|((of, site), _)| of == sku && here(site))
                .map(|(_, units)| units)
                .sum();
            if lies < *units {
                return Err(ExpectedFailure(
                    4001,
                    "INSUFFICIENT_INVENTORY",
                    None,
                    Some(lies),
                ));
            }
        }
        for (sku, units) in sums {
            // One by one, from the first location that has stock.
            for _ in 0..units {
                let site = self
                    .stock
                    .iter_mut()
                    .find(|((of, site), left)| *of == sku && here(site) && **left > 0);
                *site.unwrap().1 -= 1;
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

    fn take_back(&mut self, number: usize, lines: &Units) -> Result<(), ExpectedFailure> {
        let order = self.orders.get_mut(number).ok_or(no("ORDER_NOT_FOUND"))?;
        let sums = RulesModel::requested_units(
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

    pub(crate) fn make(&mut self, change: &Change) -> Result<(), ExpectedFailure> {
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
