// A long list that renders only the visible lines. All lines have the same height, so that the position of
// a line follows from its number.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Lines rendered above and below the visible ones, so that fast scrolling shows no gaps. */
const LINES_BEYOND = 8;
/** The distance from the end at which the next page is requested. */
const NEAR_END_LINES = 30;

interface Props {
  count: number;
  lineHeight: number;
  render: (index: number) => ComponentChildren;
  /** Called near the end of the list, so that a list without a known end can load more. */
  onNearEnd?: (() => void) | undefined;
  /** Scrolls this line into view when it changes. */
  reveal?: number | undefined;
  /** Stays above the lines during scrolling. */
  head?: ComponentChildren;
  headHeight?: number;
  class?: string;
  attributes?: Record<string, unknown>;
}

export function VirtualList({ count, lineHeight, render, onNearEnd, reveal, head, headHeight = 0, class: extra, attributes }: Props) {
  const element = useRef<HTMLDivElement>(null);
  const [sight, setSight] = useState({ top: 0, height: 600 });
  useLayoutEffect(() => {
    const view = element.current;
    if (!view) return;
    const measure = () => setSight({ top: view.scrollTop, height: view.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(view);
    view.addEventListener("scroll", measure, { passive: true });
    measure();
    return () => {
      observer.disconnect();
      view.removeEventListener("scroll", measure);
    };
  }, []);
  useLayoutEffect(() => {
    // Scrolls as little as possible: the line may be hidden above, or below the head.
    const view = element.current;
    if (!view || reveal === undefined || reveal < 0) return;
    const top = reveal * lineHeight;
    const room = view.clientHeight - headHeight;
    if (top < view.scrollTop) view.scrollTop = top;
    else if (top + lineHeight > view.scrollTop + room) view.scrollTop = top + lineHeight - room;
  }, [reveal]);

  const first = Math.max(0, Math.floor(sight.top / lineHeight) - LINES_BEYOND);
  const last = Math.min(count, Math.ceil((sight.top + sight.height) / lineHeight) + LINES_BEYOND);
  const nearEnd = last + NEAR_END_LINES >= count;
  useEffect(() => {
    if (nearEnd) onNearEnd?.();
  }, [nearEnd, count]);

  const lines: ComponentChildren[] = [];
  for (let index = first; index < last; index++) lines.push(render(index));
  return (
    <div ref={element} class={`virtual-list ${extra ?? ""}`} tabIndex={0} {...attributes}>
      {head}
      <div class="virtual-room" role="presentation" style={{ height: `${count * lineHeight}px` }}>
        <div class="virtual-lines" role="presentation" style={{ transform: `translateY(${first * lineHeight}px)` }}>
          {lines}
        </div>
      </div>
    </div>
  );
}
