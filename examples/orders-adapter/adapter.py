#!/usr/bin/env python3
"""A complete order system behind Candor's adapter protocol, in memory, without dependencies.

Read it from the bottom: `Handler` speaks HTTP, `Shop.change` keeps keys, the methods named after
operations do the work. Everything is lost when it ends.
"""

import argparse
import base64
import copy
import hashlib
import hmac
import json
import re
import sys
import threading
import traceback
from datetime import datetime, timezone
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BODY_MAX = 4 * 1024 * 1024
CURRENCY = "EUR"
PLACES = {"JPY": 0, "KRW": 0, "BHD": 3, "KWD": 3}  # the others have two
MEMBERS = {
    "create-sales-order": "order",
    "update-order": "order",
    "cancel-order": "order",
    "fulfill-order": "fulfillment",
    "create-return": "return",
    "get-orders": "orders",
    "get-customers": "customers",
    "get-products": "products",
    "get-product-variants": "productVariants",
    "get-inventory": "inventory",
    "get-fulfillments": "fulfillments",
    "get-returns": "returns",
}
CHANGES = [name for name in MEMBERS if not name.startswith("get-")]
STEPS = {("pending", "confirmed"), ("confirmed", "processing"), ("shipped", "delivered")}
RETURN_STEPS = {
    ("requested", "received"),
    ("received", "completed"),
    ("requested", "declined"),
    ("received", "declined"),
}
FEATURES = ["lines", "tax", "discounts", "shipping", "payments", "edits", "returns", "exchange", "phones"]
SORTED = ("get-orders", "get-customers", "get-fulfillments", "get-returns")
TIMES = ("createdAtMin", "createdAtMax", "updatedAtMin", "updatedAtMax")
OPEN = ("pending", "confirmed", "processing")


class No(Exception):
    """A failure: its status, its code, and the facts that a client may see."""

    def __init__(self, status, code, /, **context):
        super().__init__(code)
        self.status, self.code, self.context = status, code, context

    def body(self):
        error = {"code": self.code, "retryable": False, "message": self.code.lower().replace("_", " ")}
        return {"error": {**error, "context": self.context}}


def now():
    # A fixed number of digits, so that texts sort like instants.
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def stamped(entity):
    moment = now()
    return {**entity, "createdAt": moment, "updatedAt": moment}


def amount(text, currency, field):
    places = PLACES.get(currency, 2)
    value = Decimal(text)
    if -value.as_tuple().exponent > places:
        raise No(422, "INVALID_AMOUNT", field=field)
    return value.quantize(Decimal(1).scaleb(-places))


def totals(order):
    """Returns every sum of an order, and the state of its payments."""
    lines, shipping = order["lineItems"], order.get("shipping", {})
    money = lambda text: amount(text, order["currency"], "order")
    none = money("0")
    sub_total = sum((money(line["unitPrice"]) * line["quantity"] for line in lines), none)
    discount_total = sum((money(line["unitDiscount"]) * line["quantity"] for line in lines), none)
    discount_total += money(order.get("orderDiscount", "0"))
    shipping_total = money(shipping.get("price", "0"))
    tax_total = sum((money(line["tax"]) for line in lines), none)
    tax_total += money(shipping.get("tax", "0")) + money(order.get("orderTax", "0"))
    added = none if order["taxIncluded"] else tax_total
    paid = sum((money(one["amount"]) for one in order["payments"] if one["status"] == "captured"), none)
    refunded = sum((money(one["amount"]) for one in order["refunds"]), none)
    total = sub_total - discount_total + shipping_total + added
    if refunded:
        status = "refunded" if refunded == paid else "partially-refunded"
    elif paid >= total:
        status = "paid"
    else:
        status = "partially-paid" if paid else "unpaid"
    return {
        "subTotal": str(sub_total),
        "discountTotal": str(discount_total),
        "shippingTotal": str(shipping_total),
        "taxTotal": str(tax_total),
        "total": str(total),
        "paidTotal": str(paid),
        "refundedTotal": str(refunded),
        "paymentStatus": status,
    }


def normal(name):
    """Returns a name as it is compared: without case, repeated spaces and one leading sign."""
    return " ".join(name.removeprefix("#").split()).lower()


def names_of(person):
    first, last = normal(person.get("firstName", "")), normal(person.get("lastName", ""))
    return [f"{first} {last}".strip(), f"{last}, {first}", last] if last else [first] if first else []


def people_of(order):
    return [order.get(name, {}) for name in ("customer", "shippingAddress", "billingAddress")]


def is_same_phone(one, other):
    one, other = (re.sub("[^0-9]", "", phone).lstrip("0") for phone in (one, other))
    return min(len(one), len(other)) >= 7 and (one.endswith(other) or other.endswith(one))


def still_open(line):
    return line["quantity"] - line["fulfilledQuantity"] - line["cancelledQuantity"]


def can_return(line):
    return line["fulfilledQuantity"] - line["returnedQuantity"]


class Shop:
    """The order system: its catalogue, stock and orders."""

    def __init__(self):
        self.lock = threading.Lock()
        self.keys = {}  # (client, operation, key) -> (payload, status, body)
        self.count = 0
        self.orders, self.customers, self.fulfillments, self.returns = {}, {}, {}, {}
        self.last_lines, self.returned_units = {}, {}  # by order, by return
        self.products, self.variants, self.stock, self.reserved = {}, {}, {}, {}
        self.locations = ["loc_berlin", "loc_porto"]
        self.fill()

    def fill(self):
        for product, name, variants in [
            ("prod_mug", "Mug", [("MUG-WHITE", "Mug, white", "8.50"), ("MUG-BLUE", "Mug, blue", "9.00")]),
            ("prod_tea", "Tea", [("TEA-100", "Tea, 100 g", "4.20"), ("TEA-500", "Tea, 500 g", "17.90")]),
            ("prod_pot", "Teapot", [("POT-1", "Teapot, 1 l", "39.00")]),
        ]:
            self.products[product] = stamped({"id": product, "name": name})
            for sku, title, price in variants:
                variant = {"id": "var_" + sku.lower(), "productId": product, "sku": sku, "name": title}
                self.variants[sku] = stamped({**variant, "currency": CURRENCY, "price": price})
                self.reserved[sku] = 0
                for location in self.locations:
                    entry = {"sku": sku, "locationId": location, "onHand": 1000}
                    self.stock[sku, location] = stamped(entry)
        for number, name in enumerate(["Ada", "Lin"], 1):
            customer = {"id": f"cus_{number}", "email": f"{name.lower()}@example.com", "firstName": name}
            self.customers[customer["id"]] = stamped(customer)

    def new_id(self, prefix):
        self.count += 1
        return f"{prefix}_{self.count:08}"

    def on_hand(self, sku):
        return sum(self.stock[sku, location]["onHand"] for location in self.locations)

    # Keys: the first final outcome of a key is kept, together with its payload.

    def change(self, operation, asked, client, key):
        """Makes one change under the lock. A second request with the same key waits, then gets the first outcome."""
        payload = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
        with self.lock:
            kept = self.keys.get((client, operation, key))
            if kept and kept[0] != payload:
                return 409, No(409, "IDEMPOTENCY_KEY_REUSED").body()
            if not kept:
                # Every refusal here is final. An adapter that can be busy must not store a busy answer.
                try:
                    kept = payload, 200, {MEMBERS[operation]: self.work(operation)(asked)}
                except No as no:
                    kept = payload, no.status, no.body()
                # Stored as it was sent: the order may be different when the key is sent again.
                kept = kept[0], kept[1], json.loads(json.dumps(kept[2]))
                self.keys[client, operation, key] = kept
            return kept[1:]

    def work(self, operation):
        return getattr(self, operation.replace("-", "_"))

    # Changes: everything is checked before anything is changed.

    def create_sales_order(self, asked):
        new = asked["order"]
        external = new.get("externalId")
        if external and any(order.get("externalId") == external for order in self.orders.values()):
            raise No(409, "EXTERNAL_ID_CONFLICT", field="order.externalId")
        currency = new.get("currency", CURRENCY)
        lines, needed = [], {}
        for place, line in enumerate(new["lineItems"]):
            at = f"order.lineItems.{place}."
            lines.append(self.new_line(line, currency, at, len(lines) + 1))
            needed[line["sku"]] = needed.get(line["sku"], 0) + line["quantity"]
            available = self.on_hand(line["sku"]) - self.reserved[line["sku"]]
            if needed[line["sku"]] > available:
                raise No(409, "INSUFFICIENT_INVENTORY", field=at + "quantity", available=available)
        order = {"id": self.new_id("ord"), "status": "pending", "currency": currency, "lineItems": lines}
        order["orderNumber"] = str(1001 + len(self.orders))
        order.update({"taxIncluded": new.get("taxIncluded", False), "payments": [], "refunds": []})
        for name in ["externalId", "name", "shippingAddress", "billingAddress", "tags", "customFields", "notes"]:
            if name in new:
                order[name] = new[name]
        for name in ["shipping", "orderDiscount", "orderTax"]:
            if name in new:
                order[name] = new[name]
        self.pay(order, new.get("payments", []), [], "order")
        sums = totals(order)
        if Decimal(sums["discountTotal"]) > Decimal(sums["subTotal"]):
            raise No(422, "DISCOUNT_EXCEEDS_PRICE", field="order.orderDiscount")
        for name in ["subTotal", "discountTotal", "shippingTotal", "taxTotal", "total"]:
            if name in new and amount(new[name], currency, "order." + name) != Decimal(sums[name]):
                raise No(422, "TOTAL_MISMATCH", field="order." + name)
        if "customer" in new:
            order["customer"] = self.customer(new["customer"])
        order.update(sums)
        for sku, quantity in needed.items():
            self.reserved[sku] += quantity
        self.orders[order["id"]] = stamped(order)
        self.last_lines[order["id"]] = len(lines)
        return self.orders[order["id"]]

    def new_line(self, new, currency, at, number):
        variant = self.variants.get(new["sku"])
        if not variant:
            raise No(404, "SKU_NOT_FOUND", field=at + "sku")
        if currency != CURRENCY and "unitPrice" not in new:
            raise No(422, "PRICE_REQUIRED", field=at + "unitPrice")
        price = amount(new.get("unitPrice", variant["price"]), currency, at + "unitPrice")
        discount = amount(new.get("unitDiscount", "0"), currency, at + "unitDiscount")
        tax = amount(new.get("tax", "0"), currency, at + "tax")
        if discount > price:
            raise No(422, "DISCOUNT_EXCEEDS_PRICE", field=at + "unitDiscount")
        counts = {"fulfilledQuantity": 0, "cancelledQuantity": 0, "returnedQuantity": 0}
        amounts = {"unitPrice": str(price), "unitDiscount": str(discount), "tax": str(tax)}
        named = {"line": number, "sku": new["sku"], "name": new.get("name", variant["name"])}
        return {**named, "quantity": new["quantity"], **amounts, **counts}

    def pay(self, order, payments, refunds, at):
        """Records payments, then refunds. A captured payment replaces what was authorized under its reference."""
        for place, new in enumerate(payments):
            value = amount(new["amount"], order["currency"], f"{at}.payments.{place}.amount")
            status = new.get("status", "captured")
            known = [one for one in order["payments"] if one["reference"] == new["reference"]]
            if known and (known[0]["status"], status) != ("authorized", "captured"):
                raise No(409, "PAYMENT_REFERENCE_CONFLICT", field=f"{at}.payments.{place}.reference")
            if known and value > Decimal(known[0]["amount"]):
                raise No(409, "PAYMENT_REFERENCE_CONFLICT", field=f"{at}.payments.{place}.amount")
            entry = {**new, "amount": str(value), "status": status, "at": now()}
            if known:
                known[0].update(entry)
            else:
                order["payments"].append({"id": self.new_id("pay"), **entry})
        for place, new in enumerate(refunds):
            value = amount(new["amount"], order["currency"], f"{at}.refunds.{place}.amount")
            if any(one["reference"] == new["reference"] for one in order["refunds"]):
                raise No(409, "PAYMENT_REFERENCE_CONFLICT", field=f"{at}.refunds.{place}.reference")
            sums = totals(order)
            left = Decimal(sums["paidTotal"]) - Decimal(sums["refundedTotal"])
            if value > left:
                raise No(409, "REFUND_EXCEEDS_PAID", field=f"{at}.refunds.{place}.amount", availableAmount=str(left))
            order["refunds"].append({"id": self.new_id("ref"), **new, "amount": str(value), "at": now()})

    def customer(self, asked):
        """Returns a known customer by id or email. An unknown email creates a new one."""
        if "id" in asked:
            if asked["id"] not in self.customers:
                raise No(404, "CUSTOMER_NOT_FOUND", field="order.customer.id")
            found = self.customers[asked["id"]]
        else:
            email = asked["email"].lower()
            same = [one for one in self.customers.values() if one["email"] == email]
            found = same[0] if same else stamped({**asked, "id": self.new_id("cus"), "email": email})
            self.customers[found["id"]] = found
        shown = {**found, **asked}
        return {name: shown[name] for name in ["id", "email", "firstName", "lastName", "phone"] if name in shown}

    def order(self, asked):
        if asked["orderId"] not in self.orders:
            raise No(404, "ORDER_NOT_FOUND", field="orderId")
        return self.orders[asked["orderId"]]

    def open_order(self, asked):
        order = self.order(asked)
        if order["status"] not in OPEN:
            raise No(409, "INVALID_ORDER_STATE", status=order["status"])
        return order

    def update_order(self, asked):
        stored, updates = self.order(asked), asked["updates"]
        if "status" in updates and (stored["status"], updates["status"]) not in STEPS:
            raise No(409, "INVALID_ORDER_STATE", status=stored["status"])
        ships = "shippingAddress" in updates or "shipping" in updates or "lineItems" in updates
        if ships and stored["status"] not in OPEN:
            raise No(409, "INVALID_ORDER_STATE", status=stored["status"])
        order = copy.deepcopy(stored)  # a refusal below changes nothing
        for name in ["status", "name", "shippingAddress", "billingAddress", "tags", "customFields", "notes"]:
            if name in updates:
                order[name] = updates[name]
        if "shipping" in updates:
            order["shipping"] = {**order.get("shipping", {}), **updates["shipping"]}
        reserved = self.edit(order, updates.get("lineItems", []))
        self.pay(order, updates.get("payments", []), updates.get("refunds", []), "updates")
        moved, stocked = self.move(order, updates.get("returns", []))
        order.update(totals(order))
        order["updatedAt"] = now()
        for sku, units in reserved.items():
            self.reserved[sku] += units
        for spot, units in stocked.items():
            self.stock[spot]["onHand"] += units
        self.returns.update(moved)
        self.last_lines[order["id"]] = max([self.last_lines[order["id"]]] + [one["line"] for one in order["lineItems"]])
        stored.update(order)
        return stored

    def edit(self, order, edits):
        """Edits lines. Returns the units of each SKU that are reserved in addition."""
        reserved, last = {}, self.last_lines[order["id"]]
        for place, edit in enumerate(edits):
            at, sku = f"updates.lineItems.{place}.", edit["sku"]
            named = [one for one in order["lineItems"] if one["sku"] == sku]
            named = [one for one in named if edit.get("line", one["line"]) == one["line"]]
            if len(named) > 1 or ("line" in edit and not named):
                raise No(422, "LINE_UNCLEAR", field=at + "line")
            before = still_open(named[0]) if named else 0
            if not named:
                last += 1
                named = [self.new_line(edit, order["currency"], at, last)]
                order["lineItems"].append(named[0])
            line = named[0]
            if edit["quantity"] < line["fulfilledQuantity"] + line["cancelledQuantity"]:
                raise No(409, "QUANTITY_EXCEEDS_OPEN", field=at + "quantity", available=before)
            line.update({name: edit[name] for name in ["quantity", "name"] if name in edit})
            for name in ["unitPrice", "unitDiscount", "tax"]:
                if name in edit:
                    line[name] = str(amount(edit[name], order["currency"], at + name))
            if line["quantity"] == 0:
                order["lineItems"].remove(line)
            reserved[sku] = reserved.get(sku, 0) + still_open(line) - before
            available = self.on_hand(sku) - self.reserved[sku]
            if reserved[sku] > available:
                raise No(409, "INSUFFICIENT_INVENTORY", field=at + "quantity", available=available)
        if not order["lineItems"]:
            raise No(422, "LAST_LINE", field="updates.lineItems")
        return reserved

    def move(self, order, moves):
        """Moves returns. Returns them, and the units that are added to the stock of a location."""
        moved, stocked = {}, {}
        for place, move in enumerate(moves):
            known = moved.get(move["id"]) or copy.deepcopy(self.returns.get(move["id"]))
            if not known or known["orderId"] != order["id"]:
                raise No(404, "RETURN_NOT_FOUND", field=f"updates.returns.{place}.id")
            if (known["status"], move["status"]) not in RETURN_STEPS:
                raise No(409, "INVALID_RETURN_STATE", returnStatus=known["status"])
            location = move.get("restockLocationId")
            if location and location not in self.locations:
                raise No(404, "LOCATION_NOT_FOUND", field=f"updates.returns.{place}.restockLocationId")
            sign, place_of_stock = (1, location) if location else (-1, known.get("restockLocationId"))
            declined = move["status"] == "declined"
            for number, units in self.returned_units[move["id"]].items():
                line = next(one for one in order["lineItems"] if one["line"] == number)
                if declined:
                    line["returnedQuantity"] -= units
                if place_of_stock and (location or declined):
                    spot = line["sku"], place_of_stock
                    stocked[spot] = stocked.get(spot, 0) + sign * units
                    if self.stock[spot]["onHand"] + stocked[spot] < 0:
                        raise No(409, "INSUFFICIENT_INVENTORY", available=self.stock[spot]["onHand"])
            known.update({name: move[name] for name in ["status", "note", "restockLocationId"] if name in move})
            moved[move["id"]] = {**known, "updatedAt": now()}
        return moved, stocked

    def shares(self, order, wanted, free, code):
        """Returns the units of each line; `free` returns the most that a line allows."""
        if wanted is None:
            return [free(line) for line in order["lineItems"]]
        shares = [0] * len(order["lineItems"])
        for place, item in enumerate(wanted):
            is_meant = lambda line: line["sku"] == item["sku"] and item.get("line", line["line"]) == line["line"]
            lines = [n for n, line in enumerate(order["lineItems"]) if is_meant(line)]
            if not lines:
                raise No(404, "SKU_NOT_FOUND", field=f"lineItems.{place}.sku")
            left = item["quantity"]
            available = sum(free(order["lineItems"][n]) - shares[n] for n in lines)
            if left > available:
                raise No(409, code, field=f"lineItems.{place}.quantity", available=available)
            for n in lines:
                share = min(left, free(order["lineItems"][n]) - shares[n])
                shares[n] += share
                left -= share
        return shares

    def count_up(self, order, shares, member):
        for line, share in zip(order["lineItems"], shares):
            line[member] += share
        order["updatedAt"] = now()

    def cancel_order(self, asked):
        order = self.open_order(asked)
        shares = self.shares(order, asked.get("lineItems"), still_open, "QUANTITY_EXCEEDS_OPEN")
        self.count_up(order, shares, "cancelledQuantity")
        for line, share in zip(order["lineItems"], shares):
            self.reserved[line["sku"]] -= share
        if not any(still_open(line) for line in order["lineItems"]):
            sent = any(line["fulfilledQuantity"] for line in order["lineItems"])
            order["status"] = "shipped" if sent else "cancelled"
        if "reason" in asked:
            order["cancelReason"] = asked["reason"]
        return order

    def fulfill_order(self, asked):
        order = self.open_order(asked)
        if "shippingAddress" not in order:
            raise No(422, "SHIPPING_ADDRESS_REQUIRED", field="shippingAddress")
        location = asked.get("locationId")
        if location is not None and location not in self.locations:
            raise No(404, "LOCATION_NOT_FOUND", field="locationId")
        shares = self.shares(order, asked.get("lineItems"), still_open, "QUANTITY_EXCEEDS_OPEN")
        taken, sent = {}, []
        for line, share in zip(order["lineItems"], shares):
            for place in [location] if location else self.locations:
                spot = line["sku"], place
                part = min(share, self.stock[spot]["onHand"] - taken.get(spot, 0))
                if part > 0:
                    taken[spot] = taken.get(spot, 0) + part
                    sent.append({"sku": line["sku"], "quantity": part, "locationId": place})
                    share -= part
            if share:
                raise No(409, "INSUFFICIENT_INVENTORY", available=self.stock[spot]["onHand"])
        for (sku, place), quantity in taken.items():
            self.stock[sku, place]["onHand"] -= quantity
            self.stock[sku, place]["updatedAt"] = now()
            self.reserved[sku] -= quantity
        self.count_up(order, shares, "fulfilledQuantity")
        if not any(still_open(line) for line in order["lineItems"]):
            order["status"] = "shipped"
        elif order["status"] == "pending":
            order["status"] = "confirmed"
        made = {"id": self.new_id("ful"), "orderId": order["id"], "lineItems": sent}
        for name in ["trackingNumbers", "carrier", "service"]:
            if asked.get(name):
                made[name] = asked[name]
        self.fulfillments[made["id"]] = stamped(made)
        return self.fulfillments[made["id"]]

    def create_return(self, asked):
        order = self.order(asked)
        shares = self.shares(order, asked["lineItems"], can_return, "RETURN_EXCEEDS_FULFILLED")
        made = {"id": self.new_id("ret"), "orderId": order["id"], "outcome": asked["outcome"]}
        made.update({"status": "requested", "lineItems": asked["lineItems"]})
        made["refundAmount"] = str(self.refund_amount(order, asked, shares))
        if "note" in asked:
            made["note"] = asked["note"]
        if "exchangeLineItems" in asked:
            made["exchangeOrderId"] = self.exchange(order, asked, made["id"])
        self.count_up(order, shares, "returnedQuantity")
        lines = zip(order["lineItems"], shares)
        self.returned_units[made["id"]] = {line["line"]: share for line, share in lines if share}
        self.returns[made["id"]] = stamped(made)
        return self.returns[made["id"]]

    def refund_amount(self, order, asked, shares):
        none = amount("0", order["currency"], "")
        others = [one for one in self.returns.values() if one["orderId"] == order["id"] and one["status"] != "declined"]
        left = Decimal(order["total"]) - sum((Decimal(one["refundAmount"]) for one in others), none)
        if "refundAmount" in asked:
            value = amount(asked["refundAmount"], order["currency"], "refundAmount")
            if value > left:
                raise No(409, "REFUND_EXCEEDS_PAID", field="refundAmount", availableAmount=str(max(left, none)))
            return value
        if asked["outcome"] != "refund":
            return none
        price = lambda line: Decimal(line["unitPrice"]) - Decimal(line["unitDiscount"])
        return sum((price(line) * share for line, share in zip(order["lineItems"], shares)), none)

    def exchange(self, order, asked, return_id):
        """Creates the order that replaces the returned goods. Returns its id."""
        if asked["outcome"] != "exchange":
            raise No(422, "EXCHANGE_EXPECTED", field="exchangeLineItems")
        new = {name: order[name] for name in ["currency", "shippingAddress", "billingAddress"] if name in order}
        new["lineItems"] = asked["exchangeLineItems"]
        if "customer" in order:
            new["customer"] = {"id": order["customer"]["id"]}
        made = self.create_sales_order({"order": new})
        made["exchangeFor"] = return_id
        return made["id"]

    # Queries: filter, sort by time and id, return the page after the cursor.

    def entities(self, operation):
        """Returns the entities of a query, and the value that each filter compares."""
        by_id = {"ids": lambda one: [one["id"]]}
        by_order = {**by_id, "orderIds": lambda one: [one["orderId"]]}
        by_tracking = {**by_order, "trackingNumbers": lambda one: one.get("trackingNumbers", [])}
        by_state = {"statuses": lambda one: [one["status"]], "outcomes": lambda one: [one["outcome"]]}
        by_person = {
            **by_id,
            "emails": lambda one: [one.get("email", "").lower()],
            "names": names_of,
            "phones": lambda one: [one.get("phone", "")],
        }
        tracking_of = lambda order: [
            number
            for sent in self.fulfillments.values()
            if sent["orderId"] == order["id"]
            for number in sent.get("trackingNumbers", [])
        ]
        skus_of = lambda product: [v["sku"] for v in self.variants.values() if v["productId"] == product]
        if operation == "get-orders":
            return self.orders.values(), {
                **by_id,
                "externalIds": lambda one: [one.get("externalId")],
                "statuses": lambda one: [one["status"]],
                "skus": lambda one: [line["sku"] for line in one["lineItems"]],
                "emails": lambda one: [one.get("customer", {}).get("email", "").lower()],
                "orderNumbers": lambda one: [one["orderNumber"]],
                "names": lambda one: [normal(one["name"])] if "name" in one else [],
                "trackingNumbers": tracking_of,
                "customerIds": lambda one: [one.get("customer", {}).get("id")],
                "customerNames": lambda one: [name for person in people_of(one) for name in names_of(person)],
                "phones": lambda one: [person.get("phone", "") for person in people_of(one)],
                "paymentStatuses": lambda one: [one["paymentStatus"]],
            }
        if operation == "get-inventory":
            return [self.inventory(entry) for entry in self.stock.values()], {
                "skus": lambda one: [one["sku"]],
                "locationIds": lambda one: [one["locationId"]],
            }
        return {
            "get-customers": (self.customers.values(), by_person),
            "get-products": (self.products.values(), {**by_id, "skus": lambda one: skus_of(one["id"])}),
            "get-product-variants": (
                self.variants.values(),
                {**by_id, "skus": lambda one: [one["sku"]], "productIds": lambda one: [one["productId"]]},
            ),
            "get-fulfillments": (self.fulfillments.values(), by_tracking),
            "get-returns": (self.returns.values(), {**by_order, **by_state}),
        }[operation]

    def filters(self, operation):
        """Returns the names of all filters of a query, for the capabilities."""
        return [*self.entities(operation)[1], *TIMES, *(["sort"] if operation in SORTED else [])]

    def inventory(self, entry):
        reserved = self.reserved[entry["sku"]]
        available = max(0, self.on_hand(entry["sku"]) - reserved)
        return {**entry, "reservedTotal": reserved, "availableTotal": available}

    def query(self, operation, asked):
        with self.lock:
            entities, filters = self.entities(operation)
            known = self.filters(operation)
            for name in asked:
                if name not in known and name not in ("pageSize", "cursor"):
                    # A refusal is better than an answer that ignores a filter.
                    raise No(422, "UNSUPPORTED_FILTER", field=name)
            wanted = [one for one in entities if self.fits(one, asked, filters)]
            time = asked.get("sort", "createdAt")
            place = lambda one: (one[time], one.get("id") or f"{one['sku']} {one['locationId']}")
            wanted.sort(key=place)
            if "cursor" in asked:
                after = self.place(asked["cursor"])
                wanted = [one for one in wanted if place(one) > after]
            page = wanted[: asked["pageSize"]]
            more = len(wanted) > len(page)
            cursor = base64.urlsafe_b64encode(json.dumps(place(page[-1])).encode()).decode() if more else None
            # A copy: other requests may change orders while this answer is written.
            return json.loads(json.dumps({MEMBERS[operation]: page, "nextCursor": cursor}))

    def fits(self, one, asked, filters):
        for name, value in asked.items():
            fits = True
            if name in ("names", "customerNames"):
                value = [normal(name) for name in value]
            if name == "phones":
                fits = any(is_same_phone(mine, searched) for mine in filters[name](one) for searched in value)
            elif name in filters:
                fits = bool(set(value) & set(filters[name](one)))
            elif name in ("createdAtMin", "updatedAtMin"):
                fits = one[name[:-3]] >= value
            elif name in ("createdAtMax", "updatedAtMax"):
                fits = one[name[:-3]] <= value
            if not fits:
                return False
        return True

    def place(self, cursor):
        try:
            moment, identity = json.loads(base64.urlsafe_b64decode(cursor))
            return str(moment), str(identity)
        except (ValueError, TypeError):
            raise No(400, "INVALID_CURSOR", field="cursor") from None


class Handler(BaseHTTPRequestHandler):
    """The protocol: one operation is one POST, and every answer is JSON."""

    protocol_version = "HTTP/1.1"
    # One packet for head and body: two would delay each other.
    wbufsize, disable_nagle_algorithm = -1, True
    shop, token, offered, quiet = None, None, [], True

    def do_GET(self):
        if not self.admitted():
            return
        if self.path != "/v1/capabilities":
            return self.answer(404, No(404, "NOT_FOUND").body())
        filters = {name: self.shop.filters(name) for name in self.offered if name not in CHANGES}
        known = {"protocol": 1, "operations": self.offered, "keepsKeys": True}
        self.answer(200, {**known, "filters": filters, "features": FEATURES, "lookup": ["externalId"]})

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch(r"[0-9]{1,9}", length) or int(length) > BODY_MAX:
            self.close_connection = True
            return self.answer(413, No(413, "BODY_TOO_LARGE").body())
        body = self.rfile.read(int(length))
        if not self.admitted():
            return
        operation = self.path.removeprefix("/v1/")
        if operation not in self.offered:
            return self.answer(501, No(501, "NOT_IMPLEMENTED").body())
        try:
            self.answer(*self.done(operation, self.read(body)))
        except No as no:
            self.answer(no.status, no.body())
        except Exception:  # Not 4xx: that would promise that nothing was done.
            traceback.print_exc()
            self.answer(500, No(500, "INTERNAL").body())

    def read(self, body):
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            asked = None
        if not isinstance(asked, dict):
            raise No(400, "INVALID_REQUEST")
        return asked

    def done(self, operation, asked):
        if operation not in CHANGES:
            return 200, self.shop.query(operation, asked)
        key = self.headers.get("Idempotency-Key")
        if not key:
            raise No(400, "IDEMPOTENCY_KEY_REQUIRED")
        return self.shop.change(operation, asked, self.headers.get("Candor-Client", ""), key)

    def admitted(self):
        shown = self.headers.get("Authorization", "").encode()
        if self.token is None or hmac.compare_digest(shown, b"Bearer " + self.token.encode()):
            return True
        self.answer(401, No(401, "UNAUTHORIZED").body())
        return False

    def answer(self, status, body):
        text = json.dumps(body, separators=(",", ":")).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *arguments):
        if not self.quiet:
            super().log_message(*arguments)


def main():
    parser = argparse.ArgumentParser(description="A sample order system for Candor, in memory.")
    parser.add_argument("--port", type=int, default=8790, help="0 takes any free port")
    parser.add_argument("--token-file", help="a file with the token that requests must show")
    parser.add_argument("--without", action="append", default=[], choices=MEMBERS, help="do not offer this operation")
    parser.add_argument("--verbose", action="store_true", help="write a line for every request")
    arguments = parser.parse_args()
    if arguments.token_file:
        with open(arguments.token_file, encoding="ascii") as file:
            Handler.token = file.read().strip()
    Handler.shop, Handler.quiet = Shop(), not arguments.verbose
    Handler.offered = [name for name in MEMBERS if name not in arguments.without]
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
