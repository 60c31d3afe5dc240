// {"kind": "pre", "body": {"id": "1"}, "documents": [{"id": "0"}]}
function () {
    __.pluck('id');
}
