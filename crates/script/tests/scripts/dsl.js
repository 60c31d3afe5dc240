// {"documents": [{"id": "1", "n": 3, "tags": ["a", "b"], "in": {"x": 1}}, {"id": "2", "n": 1, "tags": ["c"]}, {"id": "3", "n": 2, "s": true}]}
function () {
    var seen = {};
    function note(name) {
        return function (err, docs, options) {
            seen[name] = err ? [err.number, err.message] : docs.map(function (d) { return d && d.id ? d.id : d; });
            if (options.continuation) seen[name].push('more: ' + options.continuation);
            __.response.setBody(seen);
        };
    }
    var id = function (d) { return d.id; };
    __.filter(function (d) { return d.n > 1; }, note('filter'));
    __.filter(__.getSelfLink(), function (d) { return d.n > 1; }, {}, note('filter with link'));
    __.filter(function (d) { return d.tags && d.tags.indexOf('c') > -1; }, note('filter array'));
    __.map(function (d) { return { n: d.n * 2 }; }, note('map'));
    __.map(function (d) { return d.s; }, note('map undefined'));
    __.pluck('n', note('pluck'));
    __.pluck('in', {}, note('pluck object'));
    __.sortBy(function (d) { return d.n; }, note('sortBy'));
    __.sortByDescending(function (d) { return d.n; }, { pageSize: 2 }, note('sortByDescending'));
    __.sortBy(function (d) { return d.s; }, note('sortBy mixed'));
    __.sortByDescending(function (d) { return d.n; }, { pageSize: 2, continuation: '2' }, note('sort page 2'));
    __.unwind(function (d) { return d.tags; }, {}, note('unwind'));
    __.unwind(function (d) { return d.tags; }, function (d, t) { return d.n + t; }, note('unwind result'));
    __.filter(function () { return true; }, { pageSize: 2 }, note('page'));
    __.filter(function (d) { return d.n < 3; }, { pageSize: 1 }, note('page of filter'));
    __.filter(function () { throw new Error(400, 'in the predicate'); }, note('throws'));
    getContext().getCollection().filter(function (d) { return d.id === '1'; }, note('on the collection'));
    __.chain().filter(function (d) { return d.tags; }).map(function (d) { return d.tags; }).flatten().value(note('chain'));
    __.chain().pluck('tags').map(function (t) { return [t]; }).flatten(true).value({}, note('flatten shallow'));
    __.chain().sortBy(function (d) { return d.n; }).pluck('n').value({ pageSize: 2 }, note('chain sort'));
    __.chain().unwind(function (d) { return d.tags; }).value(note('chain unwind'));
    __.proxy({ v: 1 }).filter(function (d) { return d.n === 1; }, note('proxy'));
    seen.isAccepted = __.pluck('id', note('id')).isAccepted;
}
