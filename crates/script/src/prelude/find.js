// Replaces the engine's array searches that take a function.
//
// If the engine is stopped between two steps of such a search, it frees an element twice. These
// replacements are stopped between instructions, like all other code.
{
    const { Array, Math, Number, Object, Reflect, TypeError } = globalThis;
    const { max, min, trunc } = Math;
    const { apply } = Reflect;
    const LENGTH_MAX = Number.MAX_SAFE_INTEGER;

    // The element that the last search found. The caller takes it before another search can run.
    let found;

    function take() {
        const element = found;
        found = undefined;
        return element;
    }

    // Returns the index of the first or last element that `test` accepts, or -1.
    function search(list, test, self, isLast) {
        if (list === null || list === undefined) {
            throw new TypeError('cannot convert to object');
        }
        const object = Object(list);
        const length = min(max(trunc(+object.length) || 0, 0), LENGTH_MAX);
        if (typeof test !== 'function') {
            throw new TypeError('not a function');
        }
        for (let step = 0; step < length; step++) {
            const index = isLast ? length - 1 - step : step;
            const element = object[index];
            if (apply(test, self, [element, index, object])) {
                found = element;
                return index;
            }
        }
        found = undefined;
        return -1;
    }

    const searches = {
        find(test, self = undefined) {
            search(this, test, self, false);
            return take();
        },
        findIndex(test, self = undefined) {
            const index = search(this, test, self, false);
            take();
            return index;
        },
        findLast(test, self = undefined) {
            search(this, test, self, true);
            return take();
        },
        findLastIndex(test, self = undefined) {
            const index = search(this, test, self, true);
            take();
            return index;
        },
    };
    for (const name of Object.keys(searches)) {
        Object.defineProperty(Array.prototype, name, {
            value: searches[name],
            writable: true,
            configurable: true,
        });
    }
}
