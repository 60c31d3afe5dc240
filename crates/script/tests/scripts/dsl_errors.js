// {"documents": [{"id": "1", "n": 3, "tags": ["a", "b"], "in": {"x": 1}}, {"id": "2", "n": 1, "tags": ["c"]}, {"id": "3", "n": 2, "s": true}]}
function () {
    var seen = {};
    var attempts = {
        filter: function () { __.filter('x'); },
        map: function () { __.map(); },
        pluck: function () { __.pluck(''); },
        pluckNumber: function () { __.pluck(5); },
        sortBy: function () { __.sortBy({}); },
        unwind: function () { __.unwind(); },
        unwindSelector: function () { __.unwind(function (a, b) {}); },
        unwindResult: function () { __.unwind(function (a) {}, function (a) {}); },
        chainCallback: function () { __.chain().filter(function () {}, function () {}); },
        chainOptions: function () { __.chain().pluck('a', {}); },
        options: function () { __.pluck('a', 5); },
        callback: function () { __.pluck('a', {}, 5); },
        predicate: function () { __.filter(function () { throw new Error(418, 'no callback'); }); },
        spatial: function () { __.spatial.distance(1, {}); },
        spatialFew: function () { __.spatial.within({}); },
    };
    Object.keys(attempts).forEach(function (name) {
        try { attempts[name](); seen[name] = 'no error'; } catch (e) { seen[name] = [e.number, e.message]; }
    });
    var g = { type: 'Point', coordinates: [1, 2] };
    seen.distance = __.spatial.distance(g, g);
    seen.others = [__.spatial.intersects(g, g), __.spatial.within(g, g), __.spatial.isValid(g), __.spatial.isValidDetailed(g)];
    __.response.setBody(seen);
}
