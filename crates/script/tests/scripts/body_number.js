function () { getContext().getResponse().setBody(999); }
