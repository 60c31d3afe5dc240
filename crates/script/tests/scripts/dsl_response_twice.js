// {"documents": [{"id": "1"}, {"id": "2"}]}
function () {
    __.pluck('id');
    __.pluck('id');
}
