"""A content-publishing platform that is at home in several regions.

`layout` says which accounts there are and `accounts` runs them; `connect` opens the clients of an
application in one region; `access` is what the application is written against; `union` reads from
several accounts; `operators` breaks regions and heals them.
"""

from .access import ContentAccess
from .accounts import Account, Deployment, start
from .connect import create_containers, open_access
from .entities import article
from .layout import LAYOUTS, ONE_ACCOUNT, THREE_ACCOUNTS, TWO_ACCOUNTS, Layout
from .operators import Operators
from .union import union

__all__ = [
    "Account",
    "ContentAccess",
    "Deployment",
    "LAYOUTS",
    "Layout",
    "ONE_ACCOUNT",
    "Operators",
    "THREE_ACCOUNTS",
    "TWO_ACCOUNTS",
    "article",
    "create_containers",
    "open_access",
    "start",
    "union",
]
