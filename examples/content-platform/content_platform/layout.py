"""Which accounts the platform has, and in which regions.

The first region of an account takes its writes, unless all of them do. With one account for each
region, every region writes to an account of its own and has a copy of all others.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    accounts: dict
    multi_write: bool = False

    @property
    def regions(self):
        return list(next(iter(self.accounts.values())))


TWO_ACCOUNTS = Layout(
    {
        "usa": ("West US", "North Europe"),
        "europe": ("North Europe", "West US"),
    }
)

THREE_ACCOUNTS = Layout(
    {
        "usa": ("West US", "North Europe", "Southeast Asia"),
        "europe": ("North Europe", "West US", "Southeast Asia"),
        "asia": ("Southeast Asia", "North Europe", "West US"),
    }
)

ONE_ACCOUNT = Layout({"world": ("West US", "North Europe")}, multi_write=True)

LAYOUTS = {
    "two-accounts": TWO_ACCOUNTS,
    "three-accounts": THREE_ACCOUNTS,
    "one-account": ONE_ACCOUNT,
}
