function () {
    var list = [5, 8, 13, 8], calls = [];
    function failure(f) { try { return f(); } catch (e) { return e.name; } }
    function note(x, i, all) { calls.push([x, i, all === list, this.tag]); return x === 8; }
    __.response.setBody({
        found: [list.find(x => x > 6), list.findIndex(x => x > 6), list.findLast(x => x < 13), list.findLastIndex(x => x > 6)],
        none: [[].find(x => x), list.findIndex(x => x > 99), list.findLast(x => false), list.findLastIndex(x => 0)],
        calls: [list.find(note, { tag: 't' }), calls],
        likeArrays: [Array.prototype.find.call('abc', x => x > 'a'), Array.prototype.findLast.call({ length: '2', 0: 'p', 1: 'q', 2: 'r' }, x => true),
            Array.prototype.findIndex.call({ length: NaN }, x => true), Array.prototype.findIndex.call(7, x => true)],
        holes: [, 1].findIndex(x => x === undefined),
        grown: list.slice().findIndex(function (x, i, all) { all.push(99); return x === 99; }),
        nested: list.find(x => [x].find(y => y === 13) && [[1]].find(z => z)),
        failures: [failure(() => list.find()), failure(() => Array.prototype.find.call(null, x => x)), failure(() => list.findLast(x => { throw new RangeError(); })),
            failure(() => Array.prototype.find.call({ length: 1n }, x => x)), failure(() => new ([].find)())],
        shape: ['find', 'findIndex', 'findLast', 'findLastIndex'].map(function (name) {
            var f = Array.prototype[name], d = Object.getOwnPropertyDescriptor(Array.prototype, name);
            return [f.name, f.length, d.writable, d.enumerable, d.configurable];
        }),
    });
}
