// The users of a database, and the permissions whose tokens their programs use.

import { useEffect, useState } from "preact/hooks";
import type { Resource } from "../protocol/catalogue";
import {
  type Permission,
  createPermission,
  createUser,
  deletePermission,
  deleteUser,
  listPermissions,
  listUsers,
} from "../protocol/users";
import { containers } from "../state/catalogue";
import { attempt } from "../state/notices";
import { Button, CopyButton } from "../ui/button";
import { Field, FormDialog } from "../ui/dialog";
import { Icon } from "../ui/icon";

export function Users({ database }: { database: string }) {
  const [users, setUsers] = useState<Resource[] | undefined>();
  const [creating, setCreating] = useState(false);
  const [id, setId] = useState("");
  const load = async () => setUsers(await listUsers(database));
  useEffect(() => void attempt(load), [database]);
  const [deleting, setDeleting] = useState<string | undefined>();
  return (
    <>
      {users?.length === 0 && <p class="empty">There are none. Users get tokens for a part of the data.</p>}
      {users?.map((user) => (
        <details class="user" key={user.id}>
          <summary>
            <Icon name="users" /> {user.id}
          </summary>
          <Permissions database={database} user={user.id} />
          <Button icon="delete" onClick={() => setDeleting(user.id)}>Delete the user</Button>
        </details>
      ))}
      <Button icon="add" onClick={() => { setId(""); setCreating(true); }}>New user</Button>
      {deleting && (
        <FormDialog
          title="Delete user"
          action="Delete"
          danger
          onClose={() => setDeleting(undefined)}
          onSubmit={async () => { await deleteUser(database, deleting); await load(); }}
        >
          <p>User <b>{deleting}</b> and all permissions are deleted. Tokens that were handed out stop working.</p>
        </FormDialog>
      )}
      {creating && (
        <FormDialog
          title="New user"
          action="Create"
          disabled={id === ""}
          onClose={() => setCreating(false)}
          onSubmit={async () => { await createUser(database, id); await load(); }}
        >
          <Field label="Name">
            <input type="text" value={id} autofocus autocomplete="off" onInput={(event) => setId(event.currentTarget.value)} />
          </Field>
        </FormDialog>
      )}
    </>
  );
}

function Permissions({ database, user }: { database: string; user: string }) {
  const [permissions, setPermissions] = useState<Permission[]>([]);
  const [mode, setMode] = useState<Permission["permissionMode"]>("Read");
  const names = (containers.value.get(database) ?? []).map(({ id }) => id);
  const [container, setContainer] = useState(names[0] ?? "");
  const load = async () => setPermissions(await listPermissions(database, user));
  useEffect(() => void attempt(load), [database, user]);
  const add = () =>
    attempt(async () => {
      const resource = `dbs/${database}/colls/${container}`;
      await createPermission(database, user, { id: `${mode.toLowerCase()}-${container}`, permissionMode: mode, resource });
      await load();
    });
  const remove = (id: string) => attempt(async () => { await deletePermission(database, user, id); await load(); });
  return (
    <div class="permissions">
      {permissions.map((permission) => (
        <div class="permission" key={permission.id}>
          <span class="badge">{permission.permissionMode}</span>
          <code>{permission.resource}</code>
          <CopyButton text={permission._token} label={`Copy the token of ${permission.id}`} />
          <Button icon="delete" kind="quiet" label={`Delete ${permission.id}`} onClick={() => void remove(permission.id)} />
        </div>
      ))}
      <div class="field-row">
        <select aria-label="What is allowed" value={mode} onChange={(event) => setMode(event.currentTarget.value as Permission["permissionMode"])}>
          <option value="Read">Read</option>
          <option value="All">All</option>
        </select>
        <select aria-label="Container" value={container} onChange={(event) => setContainer(event.currentTarget.value)}>
          {names.map((name) => <option key={name}>{name}</option>)}
        </select>
        <Button icon="add" disabled={container === ""} onClick={() => void add()}>Allow</Button>
      </div>
    </div>
  );
}
