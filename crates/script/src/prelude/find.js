// The searches of arrays by a function, in place of the engine's own.
//
// When the engine is stopped between two steps of one of these, it frees an element twice. Here it is
// stopped between instructions, as everywhere else.
{
    const { Array, Math, Number, Object, Reflect, TypeError } = globalThis;
    const { max, min, trunc } = Math;
    const { apply } = Reflect;
    const LENGTH_MAX = Number.MAX_SAFE_INTEGER;

    // The element of the last search; taken before anything else can search.
    let found;

    function take() {
        const element = found;
        found = undefined;
        return element;
    }

    // Gives the place of the first or last element that `test` accepts, or -1.
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
