"""The columns of a FOCUS file: which are read, which make a charge's identity, which version."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ingest.text import Record
from warehouse.contracts import SourceFile
from warehouse.errors import SourceError

#: Without these a charge has no place in money or time. The others that FOCUS calls mandatory
#: decide neither, and real exports lack some (Oracle: ChargeClass), so they may be absent.
REQUIRED = (
    "BilledCost", "EffectiveCost", "BillingCurrency", "ChargeCategory", "BillingPeriodStart",
    "BillingPeriodEnd", "ChargePeriodStart", "ChargePeriodEnd",
)  # fmt: skip
TEXTS = {
    "issuer": "InvoiceIssuerName",
    "invoice_id": "InvoiceId",
    "billing_account_id": "BillingAccountId",
    "sub_account_id": "SubAccountId",
    "charge_class": "ChargeClass",
    "charge_description": "ChargeDescription",
    "charge_frequency": "ChargeFrequency",
    "service_name": "ServiceName",
    "service_category": "ServiceCategory",
    "sku_id": "SkuId",
    "sku_meter": "SkuMeter",
    "region_id": "RegionId",
    "resource_id": "ResourceId",
    "resource_name": "ResourceName",
    "resource_type": "ResourceType",
    "commitment_discount_id": "CommitmentDiscountId",
    "tags_json": "Tags",
}
_OTHERS = (
    "ListCost", "CommitmentDiscountStatus", "CommitmentDiscountQuantity", "CommitmentDiscountUnit",
    "ConsumedQuantity", "ConsumedUnit", "PricingQuantity", "PricingUnit", "SkuPriceDetails",
    "x_InstanceType", "x_SkuDetails",
)  # fmt: skip
_READ = {name.lower(): name for name in (*REQUIRED, *TEXTS.values(), *_OTHERS)}
#: The newest version of which the file has a column; 1.0 has none of these.
_VERSIONS = {
    "1.4": ("InvoiceDetailId", "CommitmentProgramEligibilityDetails"),
    "1.3": ("ServiceProviderName", "HostProviderName", "AllocatedMethodId", "ContractApplied"),
    "1.2": ("InvoiceId", "PricingCurrency", "BillingAccountType", "SubAccountType"),
    "1.1": ("CapacityReservationId", "CommitmentDiscountQuantity", "SkuMeter", "SkuPriceDetails",
            "ServiceSubcategory"),
}  # fmt: skip
NULLS = frozenset(("", "NULL"))


@dataclass(frozen=True)
class Columns:
    """Where the columns stand: those that are read, and those that make a charge's identity."""

    read: tuple[tuple[str, int], ...]
    identity: tuple[tuple[str, int], ...]
    version: str

    def values(self, cells: list[str]) -> dict[str, str | None]:
        """A record's cells by FOCUS name; null where the cell is empty or says NULL."""
        return {name: None if cells[at] in NULLS else cells[at] for name, at in self.read}


def find_columns(record: Record | None, file: SourceFile) -> Columns:
    """Find the columns in a file's first record, or raise SourceError with what is missing."""
    if record is None or record.fault:
        raise SourceError(
            file.name, "has no header" if record is None else f"has no header: {record.fault}",
            expected="a FOCUS cost and usage CSV", todo="Export the bill again as FOCUS CSV.",
        )  # fmt: skip
    names = [cell.strip() for cell in record.cells]
    read = [(_READ[name.lower()], at) for at, name in enumerate(names) if name.lower() in _READ]
    twice = sorted(name for name, times in Counter(name for name, _ in read).items() if times > 1)
    if twice:
        raise SourceError(
            file.name, f"has two columns {', '.join(twice)}", expected="each column once",
            todo="Export the bill again, or take out the column that is not FOCUS's.",
        )  # fmt: skip
    missing = [name for name in REQUIRED if name not in dict(read)]
    if missing:
        found = "is no FOCUS bill: it has" if len(missing) == len(REQUIRED) else "has"
        raise SourceError(
            file.name, f"{found} no column {', '.join(missing)}",
            expected="the FOCUS columns that decide a charge's money and time",
            todo="Export the bill as FOCUS CSV with all columns.",
        )  # fmt: skip
    known = {name for name, _ in read}
    identity = sorted(
        (_READ.get(name.lower(), name), at)
        for at, name in enumerate(names)
        if not name.lower().startswith("x_") or _READ.get(name.lower()) in known
    )
    lower = {name.lower() for name in names}
    version = next(
        (v for v, added in _VERSIONS.items() if any(name.lower() in lower for name in added)), "1.0"
    )
    return Columns(tuple(read), tuple(identity), version)
