// {"kind": "pre", "operation": "Replace", "body": {"id": "1", "a": 1}}
function () {
    getContext().getRequest().getBody().a = 2;
}
