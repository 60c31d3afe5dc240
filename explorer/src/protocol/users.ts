// The users of a database, and their permissions.

import { type Resource, databaseLink, readFeed } from "./catalogue";
import { send } from "./request";

/** A permission, with a token made for this answer. */
export interface Permission extends Resource {
  permissionMode: "Read" | "All";
  resource: string;
  _token: string;
}

const userLink = (database: string, user: string) => `${databaseLink(database)}/users/${user}`;

/** Lists the users of a database. */
export function listUsers(database: string): Promise<Resource[]> {
  return readFeed({ path: ["dbs", database, "users"], type: "users", link: databaseLink(database) }, "Users");
}

export async function createUser(database: string, id: string): Promise<void> {
  const path = ["dbs", database, "users"];
  await send({ method: "POST", path, type: "users", link: databaseLink(database), body: { id } });
}

export async function deleteUser(database: string, user: string): Promise<void> {
  const path = ["dbs", database, "users", user];
  await send({ method: "DELETE", path, type: "users", link: userLink(database, user) });
}

/** Lists the permissions of a user. Each one has a new token. */
export function listPermissions(database: string, user: string): Promise<Permission[]> {
  const path = ["dbs", database, "users", user, "permissions"];
  return readFeed({ path, type: "permissions", link: userLink(database, user) }, "Permissions");
}

export async function createPermission(database: string, user: string, permission: object): Promise<void> {
  const path = ["dbs", database, "users", user, "permissions"];
  await send({ method: "POST", path, type: "permissions", link: userLink(database, user), body: permission });
}

export async function deletePermission(database: string, user: string, id: string): Promise<void> {
  const path = ["dbs", database, "users", user, "permissions", id];
  const link = `${userLink(database, user)}/permissions/${id}`;
  await send({ method: "DELETE", path, type: "permissions", link });
}
