// The conflict screen: another client has changed the item. It shows both versions, and the person chooses
// one.

import { Button } from "../../ui/button";
import { Dialog } from "../../ui/dialog";
import { Difference } from "../../ui/difference";

interface Props {
  theirs: string;
  mine: string;
  onOverwrite: () => void;
  onTake: () => void;
  onClose: () => void;
}

export function Conflict({ theirs, mine, onOverwrite, onTake, onClose }: Props) {
  return (
    <Dialog title="The item has changed on the server" wide onClose={onClose}>
      <div class="sides" aria-hidden="true">
        <span>On the server</span>
        <span>Yours</span>
      </div>
      <Difference theirs={theirs} mine={mine} />
      <footer>
        <Button onClick={onClose}>Go on editing</Button>
        <Button onClick={onTake}>Take the server's</Button>
        <Button kind="danger" onClick={onOverwrite}>Overwrite with yours</Button>
      </footer>
    </Dialog>
  );
}
