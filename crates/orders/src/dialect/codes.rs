//! The eight codes of the orders dialect, frozen by its specification, and the words below them.

use super::Orders;
use candor_fault::Reason;

/// The identifiers that adapters of ours put into `details.originalError`.
pub static ORIGINAL_ERRORS: &[Reason] = &[
    Reason {
        name: "ORDER_NOT_FOUND",
        meaning: "No order has this id.",
    },
    Reason {
        name: "SKU_NOT_FOUND",
        meaning: "The catalogue has no such SKU.",
    },
    Reason {
        name: "CUSTOMER_NOT_FOUND",
        meaning: "No customer has this id or address.",
    },
    Reason {
        name: "LOCATION_NOT_FOUND",
        meaning: "No location has this id.",
    },
    Reason {
        name: "NOT_FOUND",
        meaning: "The backend says that something does not exist, and not what.",
    },
    Reason {
        name: "INVALID_ORDER_STATE",
        meaning: "The order's status does not allow this step.",
    },
    Reason {
        name: "QUANTITY_EXCEEDS_OPEN",
        meaning: "The order has fewer open units of the SKU than were asked for.",
    },
    Reason {
        name: "INSUFFICIENT_INVENTORY",
        meaning: "There is less stock than the order needs.",
    },
    Reason {
        name: "RETURN_EXCEEDS_FULFILLED",
        meaning: "More would come back than was sent out.",
    },
    Reason {
        name: "IDEMPOTENCY_KEY_REUSED",
        meaning: "The key belongs to a call with another payload.",
    },
    Reason {
        name: "EXTERNAL_ID_CONFLICT",
        meaning: "Another order has this external id.",
    },
    Reason {
        name: "ADAPTER_UNAUTHORIZED",
        meaning: "The backend refuses this server's credentials.",
    },
    Reason {
        name: "INVALID_ADAPTER_RESPONSE",
        meaning: "The backend answered something that does not fit the result's schema.",
    },
    Reason {
        name: "OUTCOME_UNKNOWN",
        meaning: "The change may have been made, and a backend without keys cannot be asked again.",
    },
    Reason {
        name: "BACKEND_REFUSED",
        meaning: "The backend refused without an identifier that can be passed on.",
    },
    Reason {
        name: "WRITE_TOKEN_REQUIRED",
        meaning: "The server takes changes only with its write token.",
    },
    Reason {
        name: "RETURN_NOT_FOUND",
        meaning: "The order has no return with this id.",
    },
    Reason {
        name: "INVALID_RETURN_STATE",
        meaning: "The return's status does not allow this step.",
    },
    Reason {
        name: "REFUND_EXCEEDS_PAID",
        meaning: "More would be paid back than was paid, or than the order came to.",
    },
    Reason {
        name: "PAYMENT_REFERENCE_CONFLICT",
        meaning: "The order already has a payment or a refund with this reference.",
    },
    Reason {
        name: "CUSTOMER_ERASED",
        meaning: "The stored outcome was erased together with the customer's data.",
    },
    Reason {
        name: "SCOPE_REQUIRED",
        meaning: "The client's scopes or tools do not include this call.",
    },
];

candor_fault::registry! {
    Orders, "orders";
    Validation {
        number: 2001, name: "VALIDATION_ERROR",
        meaning: "Parameters failed schema or cross-field checks.",
        message: "Validation error",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Correct the field named in `details.field`.",
        category: "Validation", frozen: true
    }
    MissingField {
        number: 2002, name: "MISSING_REQUIRED_FIELD",
        meaning: "A required field is missing.",
        message: "Required field is missing",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Add the field named in `details.field`.",
        category: "Validation", frozen: true
    }
    InvalidFormat {
        number: 2003, name: "INVALID_FORMAT",
        meaning: "A field has the wrong format.",
        message: "Field has the wrong format",
        class: Caller, retry: AfterChange, effect: None,
        remedy: "Correct the format of the field named in `details.field`.",
        category: "Validation", frozen: true
    }
    RateLimited {
        number: 3001, name: "RATE_LIMIT_EXCEEDED",
        meaning: "Too many requests.",
        message: "Rate limit exceeded",
        class: Limit, retry: AfterDelay, effect: None,
        remedy: "Wait `retryAfterMs`, then send the same call.",
        category: "System", frozen: true
    }
    Timeout {
        number: 3002, name: "TIMEOUT",
        meaning: "The operation exceeded its time limit.",
        message: "Operation timed out",
        class: Limit, retry: SameCall, effect: ask,
        remedy: "Send the same call with the same idempotencyKey; it finds what the first attempt did.",
        category: "System", frozen: true
    }
    AdapterError {
        number: 4001, name: "ADAPTER_ERROR",
        meaning: "The order system said no; `originalError` says why.",
        message: "Adapter error",
        class: Upstream, retry: ask, effect: ask,
        remedy: "Act on `details.originalError`.",
        category: "Adapter", frozen: true,
        reasons: ORIGINAL_ERRORS
    }
    BackendUnavailable {
        number: 4002, name: "BACKEND_UNAVAILABLE",
        meaning: "The order system cannot be reached.",
        message: "Backend is unavailable",
        class: Upstream, retry: AfterDelay, effect: ask,
        remedy: "Wait `retryAfterMs`, then send the same call with the same idempotencyKey.",
        category: "System", frozen: true
    }
    NotImplemented {
        number: 5001, name: "NOT_IMPLEMENTED",
        meaning: "The order system does not offer this operation.",
        message: "Not implemented by this adapter",
        class: Upstream, retry: Never, effect: None,
        remedy: "Use another tool; this adapter cannot do it.",
        category: "Adapter", frozen: true
    }
}
