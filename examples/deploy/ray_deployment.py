"""likewise serve on a Ray cluster: replicas of the same application behind Ray Serve's proxy.

    pip install "ray[serve]" ".[serve]"
    python examples/deploy/ray_deployment.py                   a cluster on this machine, until ctrl-C
    curl localhost:8000/v1/embeddings -d '{"input": "A cat sleeps."}'

On a cluster that runs: serve run --app-dir examples/deploy ray_deployment:application

A replica that dies is replaced, and the others answer meanwhile. The models' files have to be on every node. Ray's
proxy listens on 127.0.0.1 here; before it is opened to others, give the settings a file of API keys (`likewise
serve keys add`).
"""

from typing import Any

from ray import serve

MODELS = ("likewise-mini",)
REPLICAS = 2


def server() -> Any:
    """The application of one replica; it is made there, so that nothing of it has to be sent."""
    from likewise.serve import ServeSettings, create_app

    # replicas are asked by Ray's proxy, under whatever name the proxy was: so the Host header is not checked
    return create_app(MODELS, settings=ServeSettings(host="0.0.0.0", log="errors"))


application = serve.deployment(
    serve.ingress(server)(), name="likewise", num_replicas=REPLICAS, max_ongoing_requests=512
).bind()


if __name__ == "__main__":
    serve.start(http_options={"host": "127.0.0.1", "port": 8000})
    serve.run(application, blocking=True)
